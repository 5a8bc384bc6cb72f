/**
 * Runs a thousand Deployments of ten pods each on five hundred simulated nodes, with everything in one
 * process. Measures the time until all are available, the API requests this takes, and the CPU usage when
 * idle afterwards.
 */
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { controllersOf } from '#/controllers/controllers.ts'
import { collectGarbageWhenIdle, nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ControlPlane } from '#/cluster/control-plane.ts'
import { simulatedNode } from '#/cluster/simulated-nodes.ts'

const nodeCount = Number(process.env['NODES'] ?? 500)
const deploymentCount = Number(process.env['DEPLOYMENTS'] ?? 1_000)
const podsOfEach = 10
const tidyMs = 90_000
const idleMs = 60_000

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
collectGarbageWhenIdle(platform.clock)
const store = await MemoryStore.open({ platform })
const admission = await readAdmission(platform.files, {
  enable: ['NodeRestriction'],
  disable: ['ServiceAccount'],
})
const server = await ApiServer.start({ platform, store, admission, build: { version: '0.0.0' } })

const calls = new Map<string, number>()
const resourcePath = /^\/apis?\/(?:v1|[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/[^/]+(\/.+)?)?$/
function counted(request: ApiRequest): Promise<ApiResponse> {
  const [, resource = request.path, subresource = ''] = resourcePath.exec(request.path) ?? []
  const verb = request.query.has('watch') ? 'WATCH' : request.method
  const name = `${verb} ${resource}${subresource}`
  calls.set(name, (calls.get(name) ?? 0) + 1)
  return server.handle(request)
}

const controlPlane = new ControlPlane({ platform, server: { handle: counted }, controllers: controllersOf() })
controlPlane.start()
let startedMs = performance.now()
for (let number = 0; number < nodeCount; number++) controlPlane.startNode(simulatedNode(number))
await settle()
console.log(`${nodeCount} nodes ready after ${seconds(startedMs)} s`)

calls.clear()
startedMs = performance.now()
let usedBefore = process.cpuUsage()
const client = controlPlane.clientAs('kubernetes-admin', ['system:masters'])
const names = Array.from({ length: deploymentCount }, (_, index) => `web-${index}`)
for (const name of names) await client.create(deployments, deploymentOf(name))
console.log(`${deploymentCount} deployments created after ${seconds(startedMs)} s`)
for (;;) {
  await platform.clock.sleep(500)
  const { items } = await client.listAll(deployments)
  const available = items.reduce((sum, { status }) => sum + (status?.availableReplicas ?? 0), 0)
  if (available === deploymentCount * podsOfEach) break
}
const tookMs = performance.now() - startedMs
const pods = deploymentCount * podsOfEach
const rate = Math.round((pods / tookMs) * 1_000)
console.log(
  `${pods} pods available after ${seconds(startedMs)} s (${cpuSeconds(usedBefore)} s of a core): ${rate}/s`,
)
for (const [name, count] of sorted(calls)) {
  if (count / pods >= 0.001) console.log(`${(count / pods).toFixed(3)} ${name} for each pod`)
}
await settle()
// Excludes the remaining work of the garbage collector from the idle measurement.
await platform.clock.sleep(tidyMs)
calls.clear()
usedBefore = process.cpuUsage()
await platform.clock.sleep(idleMs)
const { rss, heapUsed } = process.memoryUsage()
const percent = ((Number(cpuSeconds(usedBefore)) / idleMs) * 1e5).toFixed(2)
console.log(`idle: ${percent} % of a core, ${megabytes(rss)}, ${megabytes(heapUsed)} of it objects`)
for (const [name, count] of sorted(calls))
  console.log(`${((count / idleMs) * 1e3).toFixed(1)} ${name} a second`)
process.exit()

function sorted(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].toSorted((left, right) => right[1] - left[1])
}

function cpuSeconds(since: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(since)
  return ((user + system) / 1e6).toFixed(3)
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

function deploymentOf(name: string): Deployment {
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
  return {
    metadata: { namespace: 'default', name },
    spec: { replicas: podsOfEach, selector: { matchLabels: labels }, template },
  }
}

async function settle(): Promise<void> {
  for (let quiet = 0; quiet < 5;) {
    await platform.clock.sleep(100)
    quiet = controlPlane.isIdle ? quiet + 1 : 0
  }
}

function seconds(sinceMs: number): string {
  return ((performance.now() - sinceMs) / 1_000).toFixed(1)
}
