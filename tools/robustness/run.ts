/** One run: start the target, load and faults, heal, come to rest, check. */
import { once } from 'node:events'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '#/base/flags.ts'
import { SeededRandom } from '#/base/seeded-random.ts'
import { nodePlatform } from '#/platform/node.ts'
import { checkHistory } from '#/simulation/history/check-history.ts'
import type { HistoryRecorder } from '#/simulation/history/history.ts'
import {
  NotRecovered,
  RecordedClients,
  type ClientsByRole,
  type NamedClient,
} from '#/simulation/recording/recorded-clients.ts'
import { ClientNodeClient } from './clients/client-node-client.ts'
import { K8tsClient } from './clients/k8ts-client.ts'
import { planFaults, type Fault, type PlannedFault } from './faults.ts'
import { readHistory } from './history-file.ts'
import { Recorder } from './recorder.ts'
import { writeGaps } from './write-gaps.ts'
import { describeProgress, describeReport } from './report.ts'
import type { RunRequest } from './request.ts'
import { startEmbeddedTarget } from './targets/embedded-target.ts'
import { isEtcdInstalled, startEtcdTarget } from './targets/etcd-target.ts'
import { startHostsTarget } from './targets/hosts-target.ts'
import type { Target } from './targets/target.ts'

export interface RunOptions {
  readonly isIsolated: boolean
  readonly print: (line: string) => void
  /** Ends the load early. */
  readonly signal: AbortSignal
}

/** Resolves with the exit code. */
export async function run(request: RunRequest, options: RunOptions): Promise<number> {
  const { report: reportFolder } = request
  const { print } = options
  await mkdir(reportFolder, { recursive: true })
  const historyFile = join(reportFolder, 'history.jsonl')
  const problems: string[] = []
  let figures: string | undefined
  await using recorder = new Recorder(historyFile)
  recorder.write({ type: 'run', target: request.target, seed: request.seed })
  print(`target ${request.target}, seed ${request.seed}, ${request.minutes} minutes of load`)
  {
    await using target = await startTarget(request, options.isIsolated, recorder)
    await using clients = await openClients(request, target)
    try {
      await new Session({ request, target, clients, recorder, ...options }).run()
      const checked = await target.check?.()
      problems.push(...(checked?.violations ?? []), ...checkAvailability(target, recorder))
      figures = checked?.figures
    } catch (error) {
      if (!(error instanceof NotRecovered)) throw error
      problems.push(error.message)
    }
  }
  await recorder[Symbol.asyncDispose]()
  const startedMs = performance.now()
  const history = await readHistory(historyFile)
  const { violations, undecided } = checkHistory(history)
  const verdict = { violations: [...problems, ...violations], undecided }
  const checkMs = performance.now() - startedMs
  const report = { tally: recorder.tally(), gaps: writeGaps(history), figures, verdict, checkMs, historyFile }
  for (const line of describeReport(report)) print(line)
  return verdict.violations.length + undecided.length === 0 ? 0 : 1
}

function checkAvailability({ unavailableMsMax = Infinity }: Target, recorder: Recorder): readonly string[] {
  const { longestUnavailableMs: longestMs } = recorder.tally()
  if (longestMs <= unavailableMsMax) return []
  return [`no write was acknowledged for ${longestMs / 1_000} s`]
}

async function startTarget(
  request: RunRequest,
  isIsolated: boolean,
  recorder: HistoryRecorder,
): Promise<Target> {
  const { target } = request
  if (target !== 'embedded' && !isEtcdInstalled()) {
    throw new UsageError(
      `--target ${target} needs etcd and etcdctl (Debian packages etcd-server and etcd-client)`,
    )
  }
  if (target === 'hosts' && !isIsolated) throw new UsageError('--target hosts needs root')
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-robustness-'))
  return starts[target]({ folder, logFolder: request.report, isIsolated, recorder })
}

const starts = { embedded: startEmbeddedTarget, etcd: startEtcdTarget, hosts: startHostsTarget }

interface Clients extends ClientsByRole, AsyncDisposable {}

/** Clients are spread over the API servers; every fourth one, and one of each other kind, is client-node. */
async function openClients({ clients }: RunRequest, { kubeconfigs }: Target): Promise<Clients> {
  const stack = new AsyncDisposableStack()
  let opened = 0
  const nextKubeconfig = (): string => kubeconfigs[opened++ % kubeconfigs.length]!
  const k8ts = async (name: string): Promise<NamedClient> => {
    return { name, client: stack.use(await K8tsClient.open(name, nextKubeconfig())) }
  }
  const clientNode = (name: string): NamedClient => {
    return { name, client: new ClientNodeClient(name, nextKubeconfig()) }
  }
  const workers: NamedClient[] = []
  for (let number = 0; number < clients; number++) {
    workers.push(number % 4 === 3 ? clientNode(`node${number}`) : await k8ts(`client${number}`))
  }
  const watchers = [await k8ts('watcher0'), await k8ts('watcher1'), clientNode('node-watcher0')]
  const informers = [await k8ts('informer0'), clientNode('node-informer0')]
  return { workers, watchers, informers, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

interface SessionOptions extends RunOptions {
  readonly request: RunRequest
  readonly target: Target
  readonly clients: Clients
  readonly recorder: Recorder
}

class Session {
  readonly #options: SessionOptions
  readonly #recorded: RecordedClients
  #faultCount = 0

  constructor(options: SessionOptions) {
    this.#options = options
    const { clients, recorder, request } = options
    const { seed, keys: keyCount, pauseMs } = request
    const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
    this.#recorded = new RecordedClients({ clients, recorder, clock, seed, keyCount, pauseMs, restMsMax })
  }

  async run(): Promise<void> {
    const { target } = this.#options
    {
      await using administrator = await K8tsClient.open('administrator', target.kubeconfigs[0]!)
      await administrator.createNamespace()
    }
    const observing = new AbortController()
    try {
      await this.#recorded.observe(observing.signal)
      await this.#load()
      await this.#recorded.comeToRest()
    } finally {
      observing.abort()
      await this.#recorded.ended()
    }
  }

  #random(name: string): SeededRandom {
    return new SeededRandom(`${this.#options.request.seed} ${name}`)
  }

  /** Returns when the time is over, all faults are healed, and all requests have returned. Clients write until then. */
  async #load(): Promise<void> {
    const { request, recorder, print, signal } = this.#options
    const failed = new AbortController()
    const over = AbortSignal.any([signal, failed.signal, AbortSignal.timeout(request.minutes * 60_000)])
    const startedMs = recorder.nowMs()
    const progress = setInterval(() => {
      print(describeProgress(recorder.nowMs() - startedMs, recorder.tally()))
    }, progressMs)
    const healed = new AbortController()
    const faults = this.#injectFaults(over).finally(() => healed.abort())
    const all = [faults, this.#recorded.work(AbortSignal.any([failed.signal, healed.signal]))]
    try {
      await Promise.all(all)
    } finally {
      failed.abort()
      await Promise.allSettled(all)
      clearInterval(progress)
    }
  }

  async #injectFaults(over: AbortSignal): Promise<void> {
    const { target, request, print } = this.#options
    const faults = chooseFaults(target, request, print)
    if (faults.length === 0) return untilAborted(over)
    const random = this.#random('faults')
    for (const group of planFaults(faults, random)) {
      await sleepUntilAborted(group.quietMs, over)
      if (over.aborted) return
      await Promise.all(group.faults.map(planned => this.#injectFault(planned, over)))
    }
  }

  async #injectFault({ fault, delayMs, lengthMs }: PlannedFault, over: AbortSignal): Promise<void> {
    const { recorder } = this.#options
    // Of its own, since the order in which overlapping faults draw depends on time.
    const random = this.#random(`${fault.kind} ${this.#faultCount++}`)
    await sleepUntilAborted(delayMs, over)
    const startMs = recorder.nowMs()
    const heal = await fault.inject(random)
    await sleepUntilAborted(lengthMs, over)
    const details = await heal()
    recorder.write({ type: 'fault', kind: fault.kind, startMs, endMs: recorder.nowMs(), ...details })
  }
}

const progressMs = 10_000

/** For a busy machine. */
const restMsMax = 90_000

function chooseFaults(
  target: Target,
  { faults }: RunRequest,
  print: (line: string) => void,
): readonly Fault[] {
  for (const { kind, reason } of target.missingFaults) {
    if (faults === undefined || faults.includes(kind)) print(`without fault ${kind}: ${reason}`)
  }
  const chosen = target.faults.filter(({ kind }) => faults === undefined || faults.includes(kind))
  print(`faults: ${chosen.map(({ kind }) => kind).join(', ') || 'none'}`)
  return chosen
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

async function sleepUntilAborted(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined)
}
