/** A scheduler with a real API server for tests: memory store, virtual time, nodes without kubelets. */
import type { TestContext } from 'node:test'
import type { Node, NodeSpec, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Controller } from '#/controllers/controller.ts'
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from '#/controllers/test-control-plane.ts'
import { defaultProfiles } from './default-profile.ts'
import { Scheduler, type SchedulerOptions } from './scheduler.ts'

export interface TestCluster extends TestControlPlane {
  readonly scheduler: Scheduler
  /** Creates nodes one after the other. */
  readonly addNodes: (...made: readonly Node[]) => Promise<void>
  /** Creates the pods and waits until the scheduler is idle. */
  readonly addPods: (...made: readonly Pod[]) => Promise<void>
  readonly getPod: (name: string) => Promise<Stored<Pod>>
  /** The node of each pod in the default namespace, by pod name; empty for pending pods. */
  readonly places: () => Promise<Readonly<Record<string, string>>>
  readonly deletePod: (name: string) => Promise<void>
}

export interface TestClusterOptions extends Partial<Omit<SchedulerOptions, 'platform'>> {
  readonly seed?: number
  /** Controllers that run beside the scheduler; none by default. */
  readonly controllers?: readonly Controller[]
  readonly admission?: NonNullable<TestControlPlaneOptions['admission']>
}

export async function startTestCluster(
  t: Pick<TestContext, 'after'>,
  options: TestClusterOptions = {},
): Promise<TestCluster> {
  const { seed = 1, controllers = [], admission, ...schedulerOptions } = options
  const plane = await startTestControlPlane(t, controllers, { seed, ...(admission && { admission }) })
  const { client, run, settle, platform, clientAs } = plane
  const scheduler = new Scheduler({
    platform,
    client: clientAs('system:kube-scheduler', []),
    profiles: defaultProfiles,
    ...schedulerOptions,
  })
  const stopping = new AbortController()
  const running = scheduler.run(stopping.signal)
  t.after(async () => {
    stopping.abort()
    await run(running)
  })
  await settle()
  return {
    ...plane,
    scheduler,
    addNodes: async (...made) => {
      for (const node of made) await run(client.create(nodes, node))
      await settle()
    },
    addPods: async (...made) => {
      for (const pod of made) await run(client.create(pods, pod))
      await settle()
    },
    getPod: name => run(client.get(pods, { namespace: 'default', name })),
    places: async () => {
      const { items } = await run(client.list(pods, { namespace: 'default' }))
      return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec?.nodeName ?? '']))
    },
    deletePod: async name => {
      await run(client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 }))
      await settle()
    },
  }
}

/** The object as if the API server had stored it. The uid is the key unless given. */
export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { name = '' } = object.metadata
  return {
    ...object,
    metadata: {
      uid: keyOf(object),
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...object.metadata,
      name,
    },
  }
}

export interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>
  readonly cpu?: string
  readonly memory?: string
  readonly pods?: string
  readonly others?: Readonly<Record<string, string>>
  readonly spec?: NodeSpec
}

/** A node with 4 CPUs, 8 GiB and 110 pods by default. */
export function nodeOf(name: string, parts: NodeParts = {}): Node {
  const { labels, cpu = '4', memory = '8Gi', pods: podCount = '110', others, spec } = parts
  const table = { cpu, memory, 'pods': podCount, 'ephemeral-storage': '100Gi', ...others }
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    ...(spec && { spec }),
    status: { allocatable: table, capacity: table },
  }
}

export interface PodParts extends Partial<PodSpec> {
  readonly labels?: Readonly<Record<string, string>>
  readonly namespace?: string
  readonly uid?: string
  /** Requests of its only container. */
  readonly cpu?: string
  readonly memory?: string
  readonly others?: Readonly<Record<string, string>>
}

export function podOf(name: string, parts: PodParts = {}): Pod {
  const { labels, namespace = 'default', uid, cpu, memory, others, ...spec } = parts
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }), ...others }
  // Extended resources cannot be overcommitted, so they need limits too.
  const resources = { requests, ...(others && { limits: others }) }
  return {
    metadata: { namespace, name, ...(uid && { uid }), ...(labels && { labels }) },
    spec: { containers: [{ name: 'web', image: 'web', resources }], ...spec },
  }
}
