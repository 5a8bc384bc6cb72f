/**
 * Runs Deployments of ten pods each on simulated nodes, with everything in one process: API server, controllers,
 * scheduler and the kubelets. Reports the pods available per second in each tenth of the run, CPU and API writes per
 * pod, memory per pod after the load, CPU when idle, and the longest time for which the event loop was blocked.
 *
 *     npm run bench -- scale [--nodes 500] [--pods 10000] [--store memory|embedded] [--settle 45] [--idle 60]
 *
 * On a machine that does other work, too, the nodes cannot renew their leases in time. `--slower 4` lets the time of
 * the cluster pass four times slower. What counts then are the rates for each second of CPU of the event loop, which is
 * what limits a cluster on an idle machine.
 */
import { rmSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { ControlPlane } from '#/cluster/control-plane.ts'
import { simulatedNode } from '#/cluster/simulated-nodes.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { collectGarbageWhenIdle, makeTemporaryFolder, nodePlatform, processMemory } from '#/platform/node.ts'
import type { Clock } from '#/platform/platform.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { MemoryStore } from '#/store/memory.ts'

const podsOfEach = 10

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '500' },
    pods: { type: 'string', default: '10000' },
    store: { type: 'string', default: 'memory' },
    /** Seconds before the idle measurement, which must not contain the collection of the garbage of the load. */
    settle: { type: 'string', default: '45' },
    idle: { type: 'string', default: '60' },
    slower: { type: 'string', default: '1' },
  },
})
const nodeCount = Number(values.nodes)
const deploymentCount = Math.ceil(Number(values.pods) / podsOfEach)
const podCount = deploymentCount * podsOfEach
const isEmbedded = values.store === 'embedded'

const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
const platform = { ...machine, clock: slowClock(machine.clock, Number(values.slower)) }
const memory = processMemory()
collectGarbageWhenIdle(machine.clock, () => memory.idle())
const folder = isEmbedded ? await makeTemporaryFolder() : undefined
if (folder !== undefined) process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const store = await (folder === undefined
  ? MemoryStore.open({ platform })
  : EmbeddedStore.open({ platform, folder, quotaBytes: 0 }))
const admission = await readAdmission(platform.files, {
  enable: ['NodeRestriction'],
  disable: ['ServiceAccount'],
})
const server = await ApiServer.start({ platform, store, admission, memory, build: { version: '0.0.0' } })

const calls = new Map<string, number>()
let runningPods = 0
/** When the last tenth of the pods was running: seconds since the start of the load, by the clock and of CPU. */
let tenth = { seconds: 0, cpuSeconds: 0 }
const controlPlane = new ControlPlane({ platform, server: { handle: counted }, controllers: controllersOf() })
const client = controlPlane.clientAs('kubernetes-admin', ['system:masters'])
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
/**
 * CPU time of the event loop between two of its turns: how long it is blocked on a machine that runs nothing else. The
 * delay above contains the time of other processes, too.
 */
let longestTurnMs = 0
let loopUsedMs = loopCpuMs()
let loopStartedMs = loopUsedMs
setInterval(() => {
  const usedMs = loopCpuMs()
  longestTurnMs = Math.max(longestTurnMs, usedMs - loopUsedMs)
  loopUsedMs = usedMs
}, 5).unref()

console.log(`${nodeCount} nodes, ${podCount} pods, ${values.store} store`)
controlPlane.start()
let startedMs = performance.now()
let usedBefore = process.cpuUsage()
for (let number = 0; number < nodeCount; number++) {
  controlPlane.startNode(simulatedNode(number))
  // Thousands of nodes do not start in the same millisecond.
  if (number % 10 === 9) await platform.clock.turn()
}
await settle()
console.log(
  `nodes ready after ${seconds()} s (${cpuSeconds().toFixed(1)} s of a core), ${memoryNow()}, ${longestBlock()}`,
)
const { rss: rssWithoutPods } = process.memoryUsage()

begin()
for (let index = 0; index < deploymentCount; index++) {
  await client.create(deployments, deploymentOf(`web-${index}`))
}
while (runningPods < podCount) await platform.clock.sleep(100)
while ((await availablePods()) < podCount) await platform.clock.sleep(500)
reportLoad()

await settle()
await store.compact(await store.revision())
await platform.clock.sleep(Number(values.settle) * 1_000)
const { rss } = process.memoryUsage()
const perPod = (rss - rssWithoutPods) / podCount / 1_000
console.log(`settled: ${memoryNow()}, ${perPod.toFixed(1)} kB for each pod, ${longestBlock()}`)

begin()
await platform.clock.sleep(Number(values.idle) * 1_000)
// With a slow clock the same work is spread over more seconds.
const idlePercent = (cpuSeconds() / Number(values.idle)) * 100
console.log(`idle: ${idlePercent.toFixed(2)} % of a core, ${memoryNow()}, ${longestBlock()}`)
for (const [name, count] of sorted(calls)) {
  console.log(`  ${(count / Number(values.idle)).toFixed(1)} ${name} a second`)
}
process.exit()

/** Passes a request to the server and counts it. */
async function counted(request: ApiRequest): Promise<ApiResponse> {
  const name = callName(request)
  calls.set(name, (calls.get(name) ?? 0) + 1)
  const response = await server.handle(request)
  // A simulated pod is ready with its first status.
  if (name === 'PUT pods/status' && response.status === 200) {
    runningPods++
    if ((runningPods * 10) % podCount === 0) reportTenth()
  }
  return response
}

function callName({ method, path, query }: ApiRequest): string {
  const pattern = /^\/apis?\/(?:v1|[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/[^/]+(\/.+)?)?$/
  const [, resource = path, subresource = ''] = pattern.exec(path) ?? []
  return `${query.has('watch') ? 'WATCH' : method} ${resource}${subresource}`
}

async function availablePods(): Promise<number> {
  const { items } = await client.listAll(deployments)
  return items.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0)
}

function reportTenth(): void {
  const now = { seconds: Number(seconds()), cpuSeconds: (loopCpuMs() - loopStartedMs) / 1_000 }
  const rate = podCount / 10 / (now.seconds - tenth.seconds)
  const cpuRate = podCount / 10 / (now.cpuSeconds - tenth.cpuSeconds)
  const rates = `${rate.toFixed(0)} a second, ${cpuRate.toFixed(0)} for each CPU second of the event loop`
  console.log(`  ${runningPods} pods: ${rates}, ${memoryNow()}`)
  tenth = now
}

function reportLoad(): void {
  const rate = podCount / Number(seconds())
  const cpuMs = (cpuSeconds() / podCount) * 1_000
  console.log(`pods available after ${seconds()} s: ${rate.toFixed(0)}/s, ${cpuMs.toFixed(2)} ms CPU each`)
  console.log(`  ${memoryNow()}, ${longestBlock()}`)
  for (const [name, count] of sorted(calls)) {
    if (count / podCount >= 0.001) console.log(`  ${(count / podCount).toFixed(3)} ${name} for each pod`)
  }
}

/** Begins a measurement. */
function begin(): void {
  calls.clear()
  delay.reset()
  longestTurnMs = 0
  loopStartedMs = loopCpuMs()
  usedBefore = process.cpuUsage()
  startedMs = performance.now()
}

/** True idleness is seen for half a second. */
async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    await platform.clock.sleep(100)
    quiet = controlPlane.isIdle ? quiet + 1 : 0
  }
}

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].toSorted((left, right) => right[1] - left[1])
}

function seconds(): string {
  return ((performance.now() - startedMs) / 1_000).toFixed(1)
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage(usedBefore)
  return (user + system) / 1e6
}

function memoryNow(): string {
  const { rss, heapUsed, external } = process.memoryUsage()
  return `${megabytes(rss)} resident (${megabytes(heapUsed)} objects, ${megabytes(external)} bytes outside of the heap)`
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

/** A clock on which time passes slower by this factor. */
function slowClock(clock: Clock, factor: number): Clock {
  const [startMs, monotonicStartMs] = [clock.now(), clock.monotonicMs()]
  return {
    now: () => startMs + (clock.now() - startMs) / factor,
    monotonicMs: () => monotonicStartMs + (clock.monotonicMs() - monotonicStartMs) / factor,
    setTimer: (delayMs, callback) => clock.setTimer(delayMs * factor, callback),
    sleep: (delayMs, signal) => clock.sleep(delayMs * factor, signal),
    turn: () => clock.turn(),
    beginWork: (kind, detail) => clock.beginWork(kind, detail),
  }
}

function loopCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Since the last call of `begin`. */
function longestBlock(): string {
  const [longestMs, p99Ms] = [delay.max / 1e6, delay.percentile(99) / 1e6]
  const waited = `${longestMs.toFixed(0)} ms (p99 ${p99Ms.toFixed(0)} ms)`
  return `event loop blocked for at most ${waited}, of its own CPU time ${longestTurnMs.toFixed(0)} ms`
}

function deploymentOf(name: string): Deployment {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  return {
    metadata: { namespace: 'default', name },
    spec: { replicas: podsOfEach, selector: { matchLabels: labels }, template },
  }
}
