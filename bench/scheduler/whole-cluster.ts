import { threadCpuUsage } from 'node:process'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { openHistoryLog } from '#/history/history-log.ts'
import { nodePlatform } from '#/platform/node.ts'
import { defaultProfiles } from '#/scheduler/default-profile.ts'
import { Scheduler } from '#/scheduler/scheduler.ts'
import { MemoryStore } from '#/store/memory.ts'
import { nodeNumber, type Workload } from './workloads.ts'

export interface Measured {
  readonly podsPerSecond: number
  /** Of the process, and of its event loop. */
  readonly cpuMsPerPod: number
  readonly loopMsPerPod: number
}

export interface PodBindingOptions {
  readonly recordsHistory?: boolean
  /** With metrics of requests, as in a cluster. */
  readonly measures?: boolean
}

const creatorsUsual = 8
const pollMs = 25
const hourMs = 3_600_000

/**
 * Measures from the creation of the first pod until the last one is bound, with everything in one process.
 */
export async function benchPodBinding(
  workload: Workload,
  nodeCount: number,
  podCount: number,
  { recordsHistory = false, measures = false }: PodBindingOptions = {},
): Promise<Measured> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  await using store = await MemoryStore.open({ platform })
  const limits = { folder: undefined, maxAgeMs: hourMs, maxBytes: 64 * 1024 ** 2 }
  const log = recordsHistory ? await openHistoryLog({ platform, ...limits }) : undefined
  const server = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    ...(measures && { metrics: new Metrics({ clock: platform.clock }) }),
    ...(log && { history: { log } }),
  })
  const clientAs = (username: string, groups: readonly string[]): Client => {
    const user = { username, groups: [...groups, 'system:authenticated'] }
    const transport = inProcessTransport({ handle: server.handle, user })
    return clientOf({ platform, transport, userAgent: username })
  }
  const client = clientAs('admin', ['system:masters'])
  await makeNodes(client, workload, nodeCount)
  const stopping = new AbortController()
  const scheduler = new Scheduler({
    platform,
    client: clientAs('system:kube-scheduler', []),
    profiles: defaultProfiles,
  })
  const running = scheduler.run(stopping.signal)
  const [startedMs, startedCpu, startedLoop] = [performance.now(), process.cpuUsage(), threadCpuUsage()]
  let next = 0
  const create = async (): Promise<void> => {
    while (next < podCount) await client.create(pods, workload.podOf(next++, nodeCount))
  }
  await Promise.all(Array.from({ length: creatorsUsual }, create))
  for (;;) {
    const { items } = await client.listAll(pods)
    if (items.every(({ spec }) => spec?.nodeName)) break
    await platform.clock.sleep(pollMs)
  }
  const seconds = (performance.now() - startedMs) / 1_000
  const [cpu, loop] = [process.cpuUsage(startedCpu), threadCpuUsage(startedLoop)]
  stopping.abort()
  await running
  await server.stop()
  await log?.[Symbol.asyncDispose]()
  const msPerPod = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000 / podCount
  return { podsPerSecond: podCount / seconds, cpuMsPerPod: msPerPod(cpu), loopMsPerPod: msPerPod(loop) }
}

async function makeNodes(client: Client, { onEachNode = [] }: Workload, nodeCount: number): Promise<void> {
  for (let index = 0; index < nodeCount; index++) {
    await client.create(nodes, nodeNumber(index))
    for (const pod of onEachNode) {
      const name = `${pod.metadata.name}-${index}`
      const spec = { ...pod.spec!, nodeName: `node-${index}` }
      await client.create(pods, { ...pod, metadata: { ...pod.metadata, name }, spec })
    }
  }
}
