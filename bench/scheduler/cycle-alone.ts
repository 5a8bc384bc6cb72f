import { MetricsRegistry } from '#/base/metrics.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { clientOf } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { Informers } from '#/client/informers.ts'
import { nodePlatform } from '#/platform/node.ts'
import { SchedulerCache } from '#/scheduler/scheduler-cache.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import { prioritizeNodes, filterNodes, type SchedulingCycle } from '#/scheduler/schedule-pod.ts'
import { SchedulerMetrics } from '#/scheduler/metrics.ts'
import { podInfoOf } from '#/scheduler/pod-info.ts'
import type { Profile } from '#/scheduler/profile.ts'
import { MemoryStore } from '#/store/memory.ts'
import { nodeNumber, type Workload } from './workloads.ts'

/** Runs filter and score only, on a cache that assumes each scheduled pod as if it had been bound. */
export async function scheduleAlone(
  workload: Workload,
  nodeCount: number,
  podCount: number,
): Promise<number> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  await using store = await MemoryStore.open({ platform })
  const server = await ApiServer.start({ platform, store, build: { version: '0.0.0' } })
  const user = { username: 'system:kube-scheduler', groups: ['system:authenticated'] }
  const transport = inProcessTransport({ handle: server.handle, user })
  const client = clientOf({ platform, transport, userAgent: 'bench' })
  const informers = new Informers({ platform, client })
  const cache = new SchedulerCache()
  const [profile] = defaultProfiles({
    platform,
    client,
    informer: resource => informers.of(resource),
    snapshot: () => cache.snapshot(),
    recheckPreEnqueue: () => undefined,
    metrics: new SchedulerMetrics(new MetricsRegistry(), platform.clock),
  })
  const stopping = new AbortController()
  const running = informers.run(stopping.signal)
  await informers.waitForSync(stopping.signal)
  fill(cache, workload, nodeCount)
  const world = { profile: profile!, cache, random: platform.random }
  const started = process.cpuUsage()
  let startAt = 0
  for (let index = 0; index < podCount; index++) {
    startAt = (startAt + (await scheduleOne(workload.podOf(index, nodeCount), startAt, world))) % nodeCount
  }
  const { user: userUs, system } = process.cpuUsage(started)
  stopping.abort()
  await running
  await server.stop()
  return (userUs + system) / 1_000 / podCount
}

function fill(cache: SchedulerCache, { onEachNode = [] }: Workload, nodeCount: number): void {
  for (let index = 0; index < nodeCount; index++) {
    const node = nodeNumber(index)
    cache.setNode(stored(node))
    for (const pod of onEachNode) {
      const name = `${pod.metadata.name}-${index}`
      cache.assume(podInfoOf(stored({ ...pod, metadata: { ...pod.metadata, name } })), `node-${index}`)
    }
  }
}

/** Returns the number of nodes that were filtered. */
async function scheduleOne(
  made: Pod,
  startAt: number,
  {
    profile,
    cache,
    random,
  }: {
    readonly profile: Profile
    readonly cache: SchedulerCache
    readonly random: SchedulingCycle['random']
  },
): Promise<number> {
  const pod = podInfoOf(stored(made))
  const cycle: SchedulingCycle = {
    pod,
    profile,
    random,
    startAt,
    cycleState: {},
    snapshot: cache.snapshot(),
    nominated: () => [],
  }
  const filtered = filterNodes(cycle)
  if (filtered.feasible.length > 0) {
    cache.assume(pod, prioritizeNodes(cycle, filtered.feasible).node)
    return filtered.evaluatedNodes
  }
  const result = await profile.runPostFilterPlugins(pod, filtered)
  if (result === undefined || !('node' in result)) throw new Error(`no node for ${pod.key}`)
  for (const victim of filtered.snapshot.get(result.node)!.pods) cache.removePod(victim.pod)
  cache.assume(pod, result.node)
  return filtered.evaluatedNodes
}

/** The object as if the API server had stored it; its uid is its name. */
function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { name = '' } = object.metadata
  const metadata = { ...object.metadata, name, uid: name, resourceVersion: '1', creationTimestamp: '' }
  return { ...object, metadata }
}
