/**
 * Benchmarks this machine as a node: pod startup latency, one pod at a time and with the maximum number of
 * pods of a node at once, compared with the same pods started directly in the container runtime; and the
 * resource usage of k8ts and containerd before, with all pods running, and when idle.
 */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LastingCluster } from '../tests/node/lasting-cluster.ts'
import { TestContainerd } from '../tests/node/test-containerd.ts'
import { usageOf } from './api/processes.ts'
import { runBarePods } from './node/bare-pods.ts'
import { deletePods, startPods, type PodStart } from './node/pod-starts.ts'

const podCount = Number(process.env['PODS'] ?? 110)
const singleCount = Number(process.env['SINGLE'] ?? 20)
const settleMs = Number(process.env['SETTLE_MS'] ?? 20_000)
/** The pod network of the bare runtime has no more addresses. */
const bareCount = Math.min(podCount, 36)
const idleMs = Number(process.env['IDLE_MS'] ?? 30_000)

await measureBare()
const ended: (() => Promise<void>)[] = []
try {
  const startedMs = performance.now()
  const cluster = await LastingCluster.start(
    { after: end => void ended.push(end as () => Promise<void>) },
    { flags: ['-v', '2'] },
  )
  console.log(
    `k8ts up and two images loaded: ${seconds(startedMs)} s; ${/ready in .* s/.exec(cluster.output)?.[0]}`,
  )
  await sleep(5_000)
  console.log(`without pods: ${memoryOf(cluster)}`)
  await measureIdle(cluster, 'without pods')
  await measureSingle(cluster)
  await measureBurst(cluster)
  await sleep(settleMs)
  await measureIdle(cluster, `${podCount} pods`)
  const deletedMs = performance.now()
  await deletePods(cluster)
  console.log(`all deleted after ${seconds(deletedMs)} s; ${memoryOf(cluster)}`)
} finally {
  for (const end of ended) await end()
}
process.exit()

async function measureBare(): Promise<void> {
  await using node = await TestContainerd.start()
  await runBarePods(node, { names: ['warm'], atOnce: 1 })
  const names = (kind: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${kind}-${n}`)
  const single = await runBarePods(node, { names: names('single', singleCount), atOnce: 1 })
  console.log(`bare runtime, one pod at a time: ${spread(single)}`)
  const startedMs = performance.now()
  await runBarePods(node, { names: names('burst', bareCount), atOnce: 2 * cpus().length })
  const perSecond = (bareCount / (performance.now() - startedMs)) * 1_000
  console.log(`bare runtime, ${bareCount} pods: ${perSecond.toFixed(1)} a second`)
}

async function measureSingle(cluster: LastingCluster): Promise<void> {
  const starts: PodStart[] = []
  await startPods(cluster, ['warm'])
  for (let number = 0; number < singleCount; number++) {
    starts.push(...(await startPods(cluster, [`single-${number}`])))
  }
  console.log(`one pod at a time, to Running: ${spread(starts.map(({ wholeMs }) => wholeMs))}`)
  console.log(
    `  the runtime's part, RunPodSandbox to StartContainer: ${spread(starts.map(({ runtimeMs }) => runtimeMs))}`,
  )
  console.log(`  above it: ${spread(starts.map(({ wholeMs, runtimeMs }) => wholeMs - runtimeMs))}`)
  console.log(
    `  above the calls to it alone: ${spread(starts.map(({ wholeMs, callsMs }) => wholeMs - callsMs))}`,
  )
  await deletePods(cluster)
}

async function measureBurst(cluster: LastingCluster): Promise<void> {
  const before = cpuOf(cluster)
  const startedMs = performance.now()
  const starts = await startPods(
    cluster,
    Array.from({ length: podCount }, (_, number) => `burst-${number}`),
  )
  const after = cpuOf(cluster)
  const [k8ts, containerd] = after.map((each, index) => (each - before[index]!).toFixed(1))
  const rate = (podCount / Number(seconds(startedMs))).toFixed(1)
  console.log(`${podCount} pods Running after ${seconds(startedMs)} s, ${rate} a second`)
  console.log(`  k8ts used ${k8ts} s of a core, containerd ${containerd} s`)
  console.log(`  the runtime's part of each: ${spread(starts.map(({ runtimeMs }) => runtimeMs))}`)
  const above = spread(starts.map(({ wholeMs, runtimeMs }) => wholeMs - runtimeMs))
  console.log(`  above it, waiting for others' turns included: ${above}`)
  console.log(`${podCount} pods: ${memoryOf(cluster)}`)
}

async function measureIdle(cluster: LastingCluster, what: string): Promise<void> {
  const before = cpuOf(cluster)
  await sleep(idleMs)
  const percent = cpuOf(cluster).map((each, index) => (((each - before[index]!) / idleMs) * 1e5).toFixed(2))
  console.log(
    `idle, ${what}: k8ts ${percent[0]} % of a core, containerd ${percent[1]} %; ${memoryOf(cluster)}`,
  )
}

function processesOf(cluster: LastingCluster): readonly [k8ts: number, containerd: number] {
  const containerd = readFileSync(join(cluster.folders.containerd, 'containerd.pid'), 'utf8')
  return [cluster.processId, Number(containerd)]
}

function cpuOf(cluster: LastingCluster): readonly number[] {
  return processesOf(cluster).map(pid => usageOf(pid).cpuSeconds)
}

function memoryOf(cluster: LastingCluster): string {
  const [k8ts, containerd] = processesOf(cluster).map(pid => usageOf(pid).memoryMb.toFixed(0))
  return `k8ts ${k8ts} MB, containerd ${containerd} MB`
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right)
  const at = (share: number): string =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(0)
  return `median ${at(0.5)} ms, p95 ${at(0.95)} ms`
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1_000).toFixed(1)
}
