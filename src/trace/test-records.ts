/** Compact notation for recorded writes and passes in tests. Times are milliseconds after `epochMs`. */
import type { Step } from '#/api/origin.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import type { EndedPass } from '#/client/pass-log.ts'

export const epochMs = Date.UTC(2026, 4, 4, 12)

export interface WriteTimes {
  /** When the write was visible. */
  readonly at: number
  /** Default: 2 ms before. */
  readonly received?: number
  /** Makes it the write of a pass. */
  readonly causes?: readonly number[]
  /** Default: 5 ms before it was visible. */
  readonly queued?: number
  /** Default: 4 ms before it was visible. */
  readonly started?: number
  readonly node?: string
  readonly key?: string
  /** Of the pass: `pull nginx 10+500` starts after 10 ms and takes 500 ms. */
  readonly steps?: readonly string[]
  /** Of the request. */
  readonly stages?: readonly string[]
  readonly traceparent?: string
  readonly uid?: string
}

/** `write(102, 'replicaset-controller', 'create Pod shop/web-0', { at: 20, causes: [101] })`. */
export function write(revision: number, actor: string, action: string, times: WriteTimes): WriteRecord {
  const { at, received = at - 2, causes, queued = at - 5, started = at - 4, node, steps = [] } = times
  const [verb = '', kindWord = '', path = ''] = action.split(' ')
  const [kind = '', subresource] = kindWord.split('/')
  const [namespace, name = ''] = path.includes('/') ? path.split('/') : [undefined, path]
  return {
    revision,
    timeMs: epochMs + at,
    type:
      verb === 'create' && subresource === undefined ? 'ADDED' : verb === 'delete' ? 'DELETED' : 'MODIFIED',
    object: {
      apiVersion: apiVersions[kind] ?? 'v1',
      kind,
      resource: `${kind.toLowerCase()}s`,
      ...(namespace !== undefined && { namespace }),
      name,
      uid: times.uid ?? `uid-${name}`,
    },
    origin: {
      user: causes === undefined ? actor : `system:${actor}`,
      userAgent: causes === undefined ? 'kubectl/v1.36.4 (linux/amd64)' : 'k8ts',
      verb,
      ...(subresource && { subresource }),
      receivedMs: epochMs + received,
      steps: (times.stages ?? []).map(stepOf),
      ...(times.traceparent && { traceparent: times.traceparent }),
      ...(causes && {
        pass: {
          component: actor,
          ...(node && { node }),
          key: times.key ?? path,
          causes,
          queuedMs: epochMs + queued,
          startedMs: epochMs + started,
          steps: steps.map(stepOf),
        },
      }),
    },
  }
}

export interface PassTimes {
  readonly ended: number
  readonly causes: readonly number[]
  readonly queued?: number
  readonly started?: number
  readonly node?: string
  readonly steps?: readonly string[]
}

/** `pass('kube-proxy', 'shop/web', { ended: 40, causes: [110] })`. */
export function pass(component: string, key: string, times: PassTimes): EndedPass {
  const { ended, causes, queued = ended - 3, started = ended - 2, node, steps = [] } = times
  return {
    component,
    ...(node && { node }),
    key,
    causes,
    queuedMs: epochMs + queued,
    startedMs: epochMs + started,
    endedMs: epochMs + ended,
    steps: steps.map(stepOf),
  }
}

function stepOf(text: string): Step {
  const words = text.split(' ')
  const [startMs = 0, durationMs = 0] = (words.pop() ?? '').split('+').map(Number)
  const [name = '', ...details] = words
  return { name, startMs, durationMs, ...(details.length > 0 && { detail: details.join(' ') }) }
}

const apiVersions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  EndpointSlice: 'discovery.k8s.io/v1',
}

/** A Deployment with a Service: every hop from kubectl to the service rules of the node and back. */
export function rolloutRecords(): {
  readonly writes: readonly WriteRecord[]
  readonly passes: readonly EndedPass[]
} {
  const kubelet = { node: 'node-1', key: 'shop/web-1-a' }
  return {
    writes: [
      write(99, 'alice', 'create Service shop/web', { at: -20 }),
      write(100, 'alice', 'create Deployment shop/web', {
        at: 8,
        received: 0,
        stages: [
          'authentication 0.1+0.2',
          'authorization 0.4+0.3',
          'admission ResourceQuota 1+0.4',
          'webhook policy.example.com 2+3',
          'store 5+0',
        ],
      }),
      write(101, 'deployment-controller', 'create ReplicaSet shop/web-1', {
        at: 15,
        causes: [100],
        key: 'shop/web',
      }),
      write(102, 'replicaset-controller', 'create Pod shop/web-1-a', {
        at: 22,
        causes: [101],
        key: 'shop/web-1',
      }),
      write(103, 'default-scheduler', 'create Pod/binding shop/web-1-a', {
        at: 30,
        causes: [102],
        queued: 23,
        started: 24,
        steps: ['snapshot 0+0.2', 'filter 1/1 nodes 0.3+0.5', 'bind 1+1'],
      }),
      write(104, 'kubelet', 'patch Pod/status shop/web-1-a', {
        ...kubelet,
        at: 80,
        causes: [103],
        queued: 31,
        started: 32,
        steps: ['admit 0+1', 'volumes 1+4', 'sandbox 1+44'],
      }),
      write(105, 'kubelet', 'patch Pod/status shop/web-1-a', {
        ...kubelet,
        at: 1_030,
        causes: [103],
        queued: 31,
        started: 32,
        steps: [
          'admit 0+1',
          'volumes 1+4',
          'sandbox 1+44',
          'pull nginx:1.27 2+900',
          'create web 903+30',
          'start web 934+50',
          'readiness-probe web 985+10',
        ],
      }),
      write(106, 'endpointslice-controller', 'create EndpointSlice shop/web-x', {
        at: 1_040,
        causes: [99, 105],
        key: 'shop/web',
      }),
      write(107, 'replicaset-controller', 'update ReplicaSet/status shop/web-1', {
        at: 1_041,
        causes: [105],
        key: 'shop/web-1',
      }),
      write(108, 'deployment-controller', 'update Deployment/status shop/web', {
        at: 1_050,
        causes: [107],
        key: 'shop/web',
      }),
      write(109, 'system:node:node-1', 'patch Node/status node-1', { at: 1_060 }),
    ],
    passes: [
      pass('kube-proxy', 'shop/web', {
        node: 'node-1',
        ended: 1_052,
        causes: [106],
        queued: 1_041,
        started: 1_042,
        steps: ['plan 0+1', 'write-rules 1+8'],
      }),
      pass('dns', 'shop/web', { ended: 1_045, causes: [106], steps: ['update-records 0+1'] }),
      pass('dns', 'other/web', { ended: 1_044, causes: [90] }),
    ],
  }
}
