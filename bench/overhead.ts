/**
 * Measures what origins and history cost: two API servers, one of which keeps no history, are written to in turn, and
 * pods are scheduled in turn with and without it. Prints ratios of on to off, and the bytes that a write takes on disk.
 *
 *     npm run bench -- overhead [--rounds 8] [--nodes 1000]
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fetchOnce, runLoad, type Load } from './api/load.ts'
import { podJson } from './api/pod-json.ts'
import { startApiServer, usageOf, type Running } from './api/processes.ts'
import { benchPodBinding } from './scheduler/whole-cluster.ts'
import { workloads } from './scheduler/workloads.ts'

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '8' }, nodes: { type: 'string', default: '1000' } },
})
const rounds = Number(values.rounds)
const path = '/api/v1/namespaces/default/pods'
const requests = 1_000
/** Blocks are compressed and written within a second. */
const settleMs = 2_000

interface Subject {
  readonly running: Running
  readonly folder: string
}

interface Measured {
  readonly perSecond: number
  readonly cpuMsEach: number
}

const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
try {
  const [on, off] = ['on', 'off'].map(name => join(folder, name)) as [string, string]
  for (const each of [on, off]) mkdirSync(each)
  await using running = await startApiServer(on)
  await using bare = await startApiServer(off, process.env, ['--history-max-age=0'])
  console.log(
    '| operation | on | off | ratio of rates | CPU ms each: on, off | ratio of CPU |\n|---|---|---|---|---|---|',
  )
  await compareWrites({ running, folder: on }, { running: bare, folder: off })
  await compareScheduling()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function compareWrites(on: Subject, off: Subject): Promise<void> {
  const create = (round: number): Load => ({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: number => podJson(round * requests + number),
    requests,
    concurrency: 32,
    connections: 4,
  })
  const patch = (round: number): Load => ({
    method: 'PATCH',
    path: `${path}/pod-1`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: number => JSON.stringify({ metadata: { annotations: { n: `${round}-${number}` } } }),
    requests,
    concurrency: 8,
    connections: 4,
  })
  for (const [name, load] of [
    ['create pods, 32 in flight', create] as const,
    ['patch a pod, 8 in flight', patch] as const,
  ]) {
    const before = await sizesOf(on, off)
    await inTurn(
      name,
      round => measureWrites(on, load(round)),
      round => measureWrites(off, load(round)),
    )
    const after = await sizesOf(on, off)
    const each = (key: keyof Sizes): string =>
      ((after[key] - before[key]) / requests / (rounds + 1)).toFixed(0)
    console.log(
      `  bytes for each write: store ${each('on')}, without origins ${each('off')}; history ${each('history')}`,
    )
  }
}

async function compareScheduling(): Promise<void> {
  const workload = workloads[0]!
  const run = async (recordsHistory: boolean): Promise<Measured> => {
    const { podsPerSecond, cpuMsPerPod } = await benchPodBinding(workload, Number(values.nodes), requests, {
      recordsHistory,
    })
    return { perSecond: podsPerSecond, cpuMsEach: cpuMsPerPod }
  }
  await inTurn(
    `schedule ${workload.name} pods on ${values.nodes} nodes`,
    () => run(true),
    () => run(false),
  )
}

type Measure = (round: number) => Promise<Measured>

/** The order alternates, so that neither is always first. The first round is not counted. */
async function inTurn(name: string, on: Measure, off: Measure): Promise<void> {
  const results = { on: [] as Measured[], off: [] as Measured[] }
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)
    for (const which of order) {
      const measured = await (which === 'on' ? on : off)(round)
      if (round > 0) results[which].push(measured)
    }
  }
  const rates = [results.on, results.off].map(each => median(each.map(({ perSecond }) => perSecond)))
  const cpu = [results.on, results.off].map(each => median(each.map(({ cpuMsEach }) => cpuMsEach)))
  const cells = [
    ...rates.map(rate => `${rate.toFixed(0)}/s`),
    (rates[0]! / rates[1]!).toFixed(3),
    cpu.map(ms => ms.toFixed(3)).join(', '),
    (cpu[0]! / cpu[1]!).toFixed(3),
  ]
  console.log(`| ${[name, ...cells].join(' | ')} |`)
}

/** CPU time includes what follows the writes: compression in other threads. */
async function measureWrites({ running: { target, pid } }: Subject, load: Load): Promise<Measured> {
  const before = usageOf(pid).cpuSeconds
  const { perSecond } = await runLoad(target, load)
  await sleep(settleMs)
  return { perSecond, cpuMsEach: ((usageOf(pid).cpuSeconds - before) * 1_000) / load.requests }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

interface Sizes {
  readonly on: number
  readonly off: number
  readonly history: number
}

async function sizesOf(on: Subject, off: Subject): Promise<Sizes> {
  return {
    on: await storeBytes(on),
    off: await storeBytes(off),
    history: sizeOf(join(on.folder, 'history')),
  }
}

/** The size of the objects and their versions in the store. */
async function storeBytes({ running: { target } }: Subject): Promise<number> {
  const text = (await fetchOnce(target, { path: '/metrics' })).toString()
  return Number(/^apiserver_storage_size_bytes(?:\{.*\})? (\S+)$/m.exec(text)?.[1])
}

function sizeOf(path: string): number {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
}
