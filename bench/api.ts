/**
 * Benchmarks the API server: requests per second, CPU time per request and resident memory. `--rival KUBECONFIG`
 * measures another Kubernetes on this machine in turn with it and prints the ratios, and `--rival-pids 1,2` names its
 * processes, for their CPU time and memory; its ServiceAccount admission plugin has to be disabled, as it is here. A
 * bare Node HTTP/2 server that returns the same bytes is the bound for reads.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Comparison, format, repeat, type Operation, type Subject } from './api/comparison.ts'
import { fetchOnce, runLoad, type Load } from './api/load.ts'
import { readTarget, startApiServer, startBareServer, usageOf, type Running } from './api/processes.ts'
import { podJson } from './api/pod-json.ts'
import { runWatchers } from './api/watchers.ts'

const { values: options } = parseArgs({
  options: { 'rival': { type: 'string' }, 'rival-pids': { type: 'string', default: '' } },
})

const pods = '/api/v1/namespaces/default/pods'
const configMaps = '/api/v1/namespaces/default/configmaps'
const idleMs = 60_000

const get = { path: `${pods}/pod-1`, requests: 20_000, concurrency: 64 }
const list = { path: pods, requests: 40, concurrency: 4 }
const pages = { ...list, path: `${pods}?limit=500`, requests: 200 }
const asTable = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }
const patch = {
  method: 'PATCH',
  path: `${pods}/pod-2`,
  headers: { 'content-type': 'application/merge-patch+json' },
  requests: 2_000,
  concurrency: 8,
}

const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
try {
  await using server = await startApiServer(folder)
  const { memoryMb } = usageOf(server.pid)
  console.log(`start to ready ${server.startMs.toFixed(0)} ms, memory idle ${memoryMb.toFixed(0)} MB\n`)
  const comparison = new Comparison({ target: server.target, pids: [server.pid] }, rivalOf(options))
  await measureRequests(comparison)
  await measureSizes(comparison)
  console.log()
  await compareWithBare(server)
  await measureIdle(server)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function rivalOf({ rival, 'rival-pids': pids }: typeof options): Subject | undefined {
  return rival === undefined
    ? undefined
    : { target: readTarget(rival), pids: pids.split(',').filter(Boolean).map(Number) }
}

async function measureRequests(comparison: Comparison): Promise<void> {
  const gzip = { 'accept-encoding': 'gzip' }
  const protobuf = { accept: 'application/vnd.kubernetes.protobuf' }
  const same = (): string => '{"metadata":{"labels":{"app":"web"}}}'
  const different = (number: number): string =>
    JSON.stringify({ metadata: { annotations: { n: String(number) } } })
  for (const operation of [
    { ...creation(0, 5_000), name: 'create pods, durable, 32 in flight', goal: '4' },
    { name: 'GET a pod', goal: '6', run: repeat(get) },
    { name: 'LIST 5,000 pods JSON', goal: '12', run: repeat(list) },
    { name: 'LIST 5,000 pods gzip', goal: '10', run: repeat({ ...list, headers: gzip }) },
    { name: 'LIST 5,000 pods protobuf', run: repeat({ ...list, headers: protobuf }) },
    { name: 'LIST pages of 500', goal: '8', run: repeat(pages) },
    { name: 'LIST as Table', goal: '6', run: repeat({ ...list, headers: asTable }) },
    { name: 'LIST as Table, pages of 500', run: repeat({ ...pages, headers: asTable }) },
    { name: 'merge patch that changes nothing', goal: '4', run: repeat({ ...patch, body: same }) },
    { name: 'merge patch of one pod, 8 in flight', run: repeat({ ...patch, body: different }) },
    { name: 'watch, 200 watchers x 500 events', goal: '3', run: watch },
  ])
    await comparison.measure(operation)
}

async function measureSizes(comparison: Comparison): Promise<void> {
  await comparison.measure(creation(5_000, 10_000))
  const selected = { ...list, path: `${pods}?labelSelector=shard%3D7`, requests: 200 }
  const none = { ...list, path: `${pods}?labelSelector=shard%3Dnone`, requests: 2_000 }
  await comparison.measure({ name: 'LIST 1 % of 15,000 pods by label', run: repeat(selected) })
  await comparison.measure({
    name: 'LIST with a label selector that matches nothing, 15,000 pods',
    goal: '20',
    run: repeat(none),
  })
  comparison.measureMemory('resident memory, 15,000 pods', '0.25')
  await comparison.measure(creation(15_000, 35_000))
  comparison.measureMemory('resident memory, 50,000 pods')
}

function creation(from: number, count: number): Operation {
  const load = {
    method: 'POST',
    path: pods,
    headers: { 'content-type': 'application/json' },
    body: (number: number) => podJson(from + number),
    requests: count,
    concurrency: 32,
    connections: 4,
  }
  return {
    name: `create pods ${from} to ${from + count}`,
    rounds: 1,
    run: async target => {
      const { perSecond } = await runLoad(target, load)
      await fetchOnce(target, { path: `${pods}/pod-${from + count - 1}` })
      return { count, perSecond }
    },
  }
}

async function watch(target: Running['target'], round: number): ReturnType<Operation['run']> {
  const size = { watchers: 200, events: 500 }
  const perSecond = await runWatchers(target, { ...size, path: configMaps, name: `watched-${round}` })
  return { count: size.watchers * size.events, perSecond }
}

/** The two servers are measured alternately, so that both see the same machine load. */
async function compareWithBare({ target }: Running): Promise<void> {
  const bodies = join(folder, 'bodies')
  mkdirSync(bodies)
  const page = { ...pages, path: `${pods}?limit=5000`, requests: 60 }
  for (const [name, { path }] of Object.entries({ get, page }))
    writeFileSync(join(bodies, name), await fetchOnce(target, { path }))
  await using bare = await startBareServer(folder, [join(bodies, 'get'), join(bodies, 'page')])
  const compare = async (name: string, key: string, load: Omit<Load, 'connections'>): Promise<void> => {
    const rates = { server: 0, bare: 0 }
    for (let round = 0; round < 3; round++) {
      rates.bare += (await runLoad(bare.target, { ...load, path: `/${key}`, connections: 4 })).perSecond / 3
      rates.server += (await runLoad(target, { ...load, connections: 4 })).perSecond / 3
    }
    const share = (rates.server / rates.bare).toFixed(2)
    console.log(
      `${name}: ${format(rates.server)}/s, a bare HTTP/2 server ${format(rates.bare)}/s, ratio ${share}`,
    )
  }
  await compare('GET a pod (goal 0.7)', 'get', get)
  await compare('LIST 5,000 pods', 'page', page)
}

async function measureIdle({ pid }: Running): Promise<void> {
  const before = usageOf(pid)
  await sleep(idleMs)
  const share = ((usageOf(pid).cpuSeconds - before.cpuSeconds) / (idleMs / 1_000)) * 100
  const { memoryMb } = usageOf(pid)
  console.log(`idle for a minute: ${share.toFixed(2)} % of a core, memory ${format(memoryMb)} MB`)
}
