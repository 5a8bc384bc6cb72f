/**
 * Measures what origins and history cost: two API servers, one of which keeps no history, are written to in turn, and
 * pods are scheduled in turn with and without it. Prints medians of the ratios of on to off in neighbouring rounds, and
 * the bytes that a write takes. The just-in-time compiler optimizes each process differently, by a few percent, hence
 * several pairs of processes; the first rounds of each are not counted.
 *
 *     npm run bench -- overhead [--pairs 4] [--rounds 12] [--nodes 1000]
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fetchOnce, runLoad, type Load } from './api/load.ts'
import { podJson } from './api/pod-json.ts'
import { startApiServer, threadUsageOf, type Running, type Usage } from './api/processes.ts'
import { benchPodBinding } from './scheduler/whole-cluster.ts'
import { workloads } from './scheduler/workloads.ts'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '12' },
    nodes: { type: 'string', default: '1000' },
  },
})
const pairs = Number(values.pairs)
const rounds = Number(values.rounds)
const warmUpRounds = 10
const path = '/api/v1/namespaces/default/pods'
const requests = 1_000
/** Buffered records are written within a second. */
const settleMs = 2_000

interface Subject {
  readonly running: Running
  readonly folder: string
}

interface Measured {
  readonly perSecond: number
  /** Of the process, and of its event loop if that is known. */
  readonly cpuMsEach: number
  readonly loopMsEach?: number
}

type Rounds = Readonly<Record<'on' | 'off', Measured[]>>

const create = (round: number): Load => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: number => podJson(round * requests + number),
  requests,
  concurrency: 32,
  connections: 4,
})
/** One at a time: conflicts are repeated, and their number would be most of the difference. */
const patch = (round: number): Load => ({
  method: 'PATCH',
  path: `${path}/pod-1`,
  headers: { 'content-type': 'application/merge-patch+json' },
  body: number => JSON.stringify({ metadata: { annotations: { n: `${round}-${number}` } } }),
  requests,
  concurrency: 1,
  connections: 1,
})
const loads = { 'create pods, 32 in flight': create, 'patch a pod, 1 in flight': patch }

console.log(
  '| operation | on | off | ratio of rates | CPU ms each: on, off | ratio of CPU | ratio of event loop |\n' +
    '|---|---|---|---|---|---|---|',
)
const writes = new Map(Object.keys(loads).map((name): [string, Rounds] => [name, { on: [], off: [] }]))
const sizes = new Map<string, Sizes[]>()
for (let pair = 0; pair < pairs; pair++) await measurePair()
for (const [name, results] of writes) {
  printRow(name, results)
  const each = (key: keyof Sizes): string => median(sizes.get(name)!.map(size => size[key])).toFixed(0)
  console.log(
    `  bytes for each write: store ${each('on')}, without origins ${each('off')}; history ${each('history')}`,
  )
}
await compareScheduling()

async function measurePair(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
  try {
    const [onFolder, offFolder] = ['on', 'off'].map(name => join(folder, name)) as [string, string]
    for (const each of [onFolder, offFolder]) mkdirSync(each)
    await using running = await startApiServer(onFolder)
    await using bare = await startApiServer(offFolder, process.env, ['--history-max-age=0'])
    const [on, off] = [
      { running, folder: onFolder },
      { running: bare, folder: offFolder },
    ]
    for (const [name, load] of Object.entries(loads)) {
      const before = await sizesOf(on, off)
      await compareWrites({ on, off }, load, writes.get(name)!)
      const after = await sizesOf(on, off)
      const count = requests * (warmUpRounds + rounds)
      const each = (key: keyof Sizes): number => (after[key] - before[key]) / count
      sizes
        .getOrInsertComputed(name, () => [])
        .push({ on: each('on'), off: each('off'), history: each('history') })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * The CPU time of a round is that until the next round of the same server, so that it includes what follows the writes.
 * The order alternates, so that neither is always first.
 */
async function compareWrites(
  subjects: Readonly<Record<'on' | 'off', Subject>>,
  load: (round: number) => Load,
  results: Rounds,
): Promise<void> {
  const last: Partial<Record<'on' | 'off', { readonly usage: Usage; readonly perSecond: number }>> = {}
  const finish = (which: 'on' | 'off', isCounted: boolean): Usage => {
    const usage = threadUsageOf(subjects[which].running.pid)
    const before = last[which]
    if (before && isCounted)
      results[which].push({
        perSecond: before.perSecond,
        cpuMsEach: (usage.processMs - before.usage.processMs) / requests,
        loopMsEach: (usage.loopMs - before.usage.loopMs) / requests,
      })
    return usage
  }
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    for (const which of orderOf(round)) {
      const usage = finish(which, round > warmUpRounds)
      const { perSecond } = await runLoad(subjects[which].running.target, load(round))
      last[which] = { usage, perSecond }
    }
  }
  await sleep(settleMs)
  for (const which of orderOf(0)) finish(which, true)
}

async function compareScheduling(): Promise<void> {
  const workload = workloads[0]!
  const results: Rounds = { on: [], off: [] }
  for (let round = 0; round < pairs * rounds; round++) {
    for (const which of orderOf(round)) {
      const options = { recordsHistory: which === 'on', measures: true }
      const run = await benchPodBinding(workload, Number(values.nodes), requests, options)
      const measured = {
        perSecond: run.podsPerSecond,
        cpuMsEach: run.cpuMsPerPod,
        loopMsEach: run.loopMsPerPod,
      }
      if (round >= rounds / 2) results[which].push(measured)
    }
  }
  printRow(`schedule ${workload.name} pods on ${values.nodes} nodes`, results)
}

function orderOf(round: number): readonly ('on' | 'off')[] {
  return round % 2 === 0 ? ['on', 'off'] : ['off', 'on']
}

function printRow(name: string, { on, off }: Rounds): void {
  const middle = (measured: readonly Measured[], key: keyof Measured): number =>
    median(measured.map(each => each[key] ?? NaN))
  const ratio = (key: keyof Measured): string =>
    median(on.map((each, index) => (each[key] ?? NaN) / (off[index]?.[key] ?? NaN))).toFixed(3)
  const cells = [
    `${middle(on, 'perSecond').toFixed(0)}/s`,
    `${middle(off, 'perSecond').toFixed(0)}/s`,
    ratio('perSecond'),
    `${middle(on, 'cpuMsEach').toFixed(3)}, ${middle(off, 'cpuMsEach').toFixed(3)}`,
    ratio('cpuMsEach'),
    ratio('loopMsEach'),
  ]
  console.log(`| ${[name, ...cells].join(' | ')} |`)
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
