/**
 * The history of objects: bytes on disk and time of the event loop per write, for status updates of pods, and
 * the time of reads.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { threadCpuUsage } from 'node:process'
import { openHistoryLog, type HistoryLog } from '#/history/history-log.ts'
import type { NewRecord } from '#/history/history-record.ts'
import { nodePlatform } from '#/platform/node.ts'
import { Simulation } from '#/platform/simulated.ts'

const pods = 1_000
const writes = 50_000
/** Written at once, as by a commit of the store. */
const batch = 20
const limits = { maxAgeMs: 24 * 3_600_000, maxBytes: 1_000_000_000 }

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
try {
  await benchBusy()
  await benchQuiet()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchBusy(): Promise<void> {
  const records = Array.from({ length: writes }, (_, index) => update(index, platform.clock.now()))
  const rawBytes = records.reduce((sum, { value }) => sum + value.length, 0)
  const idle = await measureCpu(records, undefined)
  const log = await openHistoryLog({ platform, folder, ...limits })
  const used = await measureCpu(records, log)
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  console.log(`history, ${writes} status updates of ${pods} pods of ${Math.round(rawBytes / writes)} bytes`)
  console.log(`  event loop ${((used - idle) / writes).toFixed(1)} us per write`)
  console.log(
    `  disk ${(bytes / writes).toFixed(0)} bytes per write, ${ratio(rawBytes, bytes)} times smaller`,
  )
  await using opened = await openHistoryLog({ platform, folder, ...limits })
  const key = records[0]!.key
  await time('all versions of a pod', () => Array.fromAsync(opened.versions(key)))
  await time('all versions of a pod, again', () => Array.fromAsync(opened.versions(key)))
  await time('a pod at a revision', () => opened.at(key, writes / 2))
  await time('all pods at a revision', () => Array.fromAsync(opened.listAt('/registry/pods/', writes / 2)))
  await time('all origins', () => Array.fromAsync(opened.range({ afterRevision: 0 })))
}

/** Microseconds of the main thread. */
async function measureCpu(records: readonly NewRecord[], log: HistoryLog | undefined): Promise<number> {
  const before = threadCpuUsage()
  for (let at = 0; at < records.length; at += batch) {
    log?.append(records.slice(at, at + batch))
    await platform.clock.turn()
  }
  await log?.[Symbol.asyncDispose]()
  const { user, system } = threadCpuUsage(before)
  return user + system
}

/** A frame has one record. */
async function benchQuiet(): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('server')
  const log = await simulation.run(openHistoryLog({ platform: host, folder: '/history', ...limits }))
  const count = 4_000
  for (let index = 0; index < count; index++) {
    log.append([update(index, host.clock.now())])
    await simulation.advance(1_500)
  }
  const before = host.disk.usedBytes / count
  await simulation.advance(limits.maxAgeMs / 2)
  // Seals what is old.
  await simulation.run(log.retainedSince())
  const after = host.disk.usedBytes / count
  console.log(`  with pauses: disk ${before.toFixed(0)} bytes per write, ${after.toFixed(0)} when sealed`)
}

async function time(title: string, read: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now()
  const result = await read()
  const count = Array.isArray(result) ? `, ${result.flat().length} records` : ''
  console.log(`  ${title}${count}: ${(performance.now() - startMs).toFixed(1)} ms`)
}

function update(index: number, timeMs: number): NewRecord {
  const pod = (index * 31) % pods
  const name = `web-7d4f8b9c6-${String((pod * 7_919) % 46_656).padStart(5, '0')}`
  const value = Buffer.from(JSON.stringify(podObject({ name, pod, index, timeMs })))
  const origin = {
    user: `system:node:node-${pod % 10}`,
    userAgent: 'kubelet/v1.36.0',
    verb: 'patch',
    subresource: 'status',
    receivedMs: timeMs - 1,
    steps: [{ name: 'store', startMs: 0.31, durationMs: (index % 97) / 100 }],
    pass: { component: 'kubelet', key: `default/${name}`, causes: [index - 7], startedMs: timeMs - 2 },
  }
  const previous = index < pods ? undefined : { revision: index + 1 - pods, value }
  return {
    revision: index + 1,
    timeMs,
    key: `/registry/pods/default/${name}`,
    type: 'MODIFIED',
    value,
    uid: `7c9e6679-7425-40de-944b-${String(pod).padStart(12, '0')}`,
    origin: Buffer.from(JSON.stringify(origin)),
    previous,
  }
}

interface PodState {
  readonly name: string
  readonly pod: number
  readonly index: number
  readonly timeMs: number
}

function podObject({ name, pod, index, timeMs }: PodState): unknown {
  const time = new Date(timeMs).toISOString()
  const hex = (index * 2_654_435_761).toString(16)
  const containers = { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } } }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      namespace: 'default',
      uid: `7c9e6679-7425-40de-944b-${String(pod).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1,
      labels: { 'app': 'web', 'pod-template-hash': '7d4f8b9c6' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-7d4f8b9c6', controller: true },
      ],
      managedFields: [
        { manager: 'k8ts', operation: 'Update', apiVersion: 'v1', time, fieldsV1: { 'f:spec': containers } },
      ],
    },
    spec: {
      volumes: [{ name: 'kube-api-access-abcde', projected: { defaultMode: 420, sources: [] } }],
      containers: [
        {
          name: 'web',
          image: 'registry.k8s.io/pause:3.10',
          resources: { requests: { cpu: '100m', memory: '64Mi' } },
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      nodeName: `node-${pod % 10}`,
      schedulerName: 'default-scheduler',
    },
    status: {
      phase: 'Running',
      podIP: `10.1.${pod % 200}.${index % 200}`,
      startTime: time,
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(type => ({
        type,
        status: 'True',
        lastTransitionTime: time,
      })),
      containerStatuses: [
        {
          name: 'web',
          ready: true,
          restartCount: index % 5,
          image: 'registry.k8s.io/pause:3.10',
          containerID: `containerd://${hex.padStart(64, hex)}`,
        },
      ],
    },
  }
}

function ratio(whole: number, part: number): string {
  return (whole / part).toFixed(1)
}
