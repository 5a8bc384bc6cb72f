/** One run: start the target, load and faults, heal, come to rest, check. */
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { UsageError } from '#/base/flags.ts'
import { SeededRandom } from '#/base/seeded-random.ts'
import { checkHistory } from '#/simulation/history/check-history.ts'
import type { Objects } from '#/simulation/history/history.ts'
import { ClientNodeClient } from './clients/client-node-client.ts'
import { markerKey } from './clients/config-maps.ts'
import { K8tsClient } from './clients/k8ts-client.ts'
import type { ObjectClient } from './clients/object-client.ts'
import { Watcher } from './clients/watcher.ts'
import { RecordingClient, runWorkload } from './clients/workload.ts'
import { planFaults, type Fault } from './faults.ts'
import { readHistory } from './history-file.ts'
import { Recorder } from './recorder.ts'
import { describeProgress, describeReport } from './report.ts'
import type { RunRequest } from './request.ts'
import { startEmbeddedTarget } from './targets/embedded-target.ts'
import { isEtcdInstalled, startEtcdTarget } from './targets/etcd-target.ts'
import type { Target } from './targets/target.ts'

export interface RunOptions {
  readonly isIsolated: boolean
  readonly print: (line: string) => void
  /** Ends the load early. */
  readonly signal: AbortSignal
}

/** Resolves with the exit code. */
export async function run(request: RunRequest, options: RunOptions): Promise<number> {
  const { report } = request
  const { print } = options
  await mkdir(report, { recursive: true })
  const historyFile = join(report, 'history.jsonl')
  const problems: string[] = []
  await using recorder = new Recorder(historyFile)
  recorder.write({ type: 'run', target: request.target, seed: request.seed })
  print(`target ${request.target}, seed ${request.seed}, ${request.minutes} minutes of load`)
  {
    await using target = await startTarget(request, options.isIsolated)
    await using clients = await openClients(request, target)
    try {
      await new Session({ request, target, clients, recorder, ...options }).run()
    } catch (error) {
      if (!(error instanceof NotRecovered)) throw error
      problems.push(error.message)
    }
  }
  await recorder[Symbol.asyncDispose]()
  const startedMs = performance.now()
  const { violations, undecided } = checkHistory(await readHistory(historyFile))
  const verdict = { violations: [...problems, ...violations], undecided }
  const checkMs = performance.now() - startedMs
  for (const line of describeReport({ tally: recorder.tally(), verdict, checkMs, historyFile })) print(line)
  return verdict.violations.length + undecided.length === 0 ? 0 : 1
}

async function startTarget(request: RunRequest, isIsolated: boolean): Promise<Target> {
  if (request.target === 'etcd' && !isEtcdInstalled()) {
    throw new UsageError('--target etcd needs etcd and etcdctl (Debian packages etcd-server and etcd-client)')
  }
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-robustness-'))
  const start = request.target === 'etcd' ? startEtcdTarget : startEmbeddedTarget
  return start({ folder, logFolder: request.report, isIsolated })
}

interface NamedClient {
  readonly name: string
  readonly client: ObjectClient
}

interface Clients extends AsyncDisposable {
  readonly workers: readonly NamedClient[]
  readonly watchers: readonly NamedClient[]
  readonly informers: readonly NamedClient[]
}

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

/** The cluster serves no request although all faults have ended: a violation, too. */
class NotRecovered extends Error {}

class Session {
  readonly #options: SessionOptions
  readonly #watchers: readonly Watcher[]

  constructor(options: SessionOptions) {
    this.#options = options
    const { clients, recorder } = options
    this.#watchers = clients.watchers.map(each => {
      return new Watcher({ ...each, recorder, random: this.#random(each.name) })
    })
  }

  async run(): Promise<void> {
    const { clients, target } = this.#options
    {
      await using administrator = await K8tsClient.open('administrator', target.kubeconfigs[0]!)
      await administrator.createNamespace()
    }
    const observing = new AbortController()
    const watching = this.#watchers.map(watcher => watcher.run(observing.signal))
    const informers = clients.informers.map(({ name, client }) => {
      return { name, objects: client.startInformer(observing.signal) }
    })
    try {
      await this.#until(() => this.#watchers.every(watcher => watcher.hasStarted), 'watchers do not start')
      await this.#load()
      await this.#comeToRest(watching)
      const final = await this.#finalList()
      for (const { name, objects } of informers) await this.#recordInformer(name, objects, final)
    } finally {
      observing.abort()
      await Promise.all(watching)
    }
  }

  #random(name: string): SeededRandom {
    return new SeededRandom(`${this.#options.request.seed} ${name}`)
  }

  /** Returns when the time is over, all faults are healed, and all requests have returned. */
  async #load(): Promise<void> {
    const { request, clients, recorder, print, signal } = this.#options
    const failed = new AbortController()
    const over = AbortSignal.any([signal, failed.signal, AbortSignal.timeout(request.minutes * 60_000)])
    const startedMs = recorder.nowMs()
    const progress = setInterval(() => {
      print(describeProgress(recorder.nowMs() - startedMs, recorder.tally()))
    }, progressMs)
    const { keys: keyCount, pauseMs } = request
    const work = clients.workers.map(each => {
      return runWorkload({ ...each, recorder, random: this.#random(each.name), keyCount, pauseMs }, over)
    })
    const all = [this.#injectFaults(over), ...work]
    try {
      await Promise.all(all)
    } finally {
      failed.abort()
      await Promise.allSettled(all)
      clearInterval(progress)
    }
  }

  async #injectFaults(over: AbortSignal): Promise<void> {
    const { target, request, recorder, print } = this.#options
    const faults = chooseFaults(target, request, print)
    if (faults.length === 0) return
    const random = this.#random('faults')
    for (const { fault, quietMs, lengthMs } of planFaults(faults, random)) {
      await sleepUntilAborted(quietMs, over)
      if (over.aborted) return
      const startMs = recorder.nowMs()
      const heal = await fault.inject(random)
      await sleepUntilAborted(lengthMs, over)
      await heal()
      recorder.write({ type: 'fault', kind: fault.kind, startMs, endMs: recorder.nowMs() })
    }
  }

  /** All watchers see a last write. */
  async #comeToRest(watching: readonly Promise<void>[]): Promise<void> {
    const { clients, recorder } = this.#options
    const client = new RecordingClient({ ...clients.workers[0]!, recorder })
    const value = (attempt: number): string => `marker-${attempt}-0`
    let attempt = 0
    const isWritten = async (): Promise<boolean> => {
      const request = { verb: 'apply', key: markerKey, value: value(attempt++) } as const
      return (await client.perform(request, restTimeoutMs)) && client.revisionOf(markerKey) !== undefined
    }
    await this.#until(isWritten, 'no write is acknowledged after the last fault')
    for (const watcher of this.#watchers) watcher.stopAt(client.revisionOf(markerKey)!)
    // The check reports watchers that have not arrived.
    await Promise.race([Promise.all(watching), sleep(restMsMax, undefined, { ref: false })])
  }

  async #finalList(): Promise<Objects> {
    const { clients, recorder } = this.#options
    const [{ name, client }] = clients.workers as [NamedClient]
    let objects: Objects | undefined
    const isListed = async (): Promise<boolean> => {
      const callMs = recorder.nowMs()
      const result = await client.list({ match: 'consistent' }, restTimeoutMs)
      if (result === undefined) return false
      const times = { callMs, returnMs: recorder.nowMs() }
      recorder.write({ type: 'list', client: name, match: 'consistent', ...times, ...result, isFinal: true })
      objects = result.objects
      return true
    }
    await this.#until(isListed, 'no list is answered after the last fault')
    return objects!
  }

  /** Waits until it is as expected, but records what it has in the end. */
  async #recordInformer(client: string, current: () => Objects, expected: Objects): Promise<void> {
    const { recorder } = this.#options
    const deadlineMs = recorder.nowMs() + restMsMax
    while (!isDeepStrictEqual(sorted(current()), sorted(expected)) && recorder.nowMs() < deadlineMs) {
      await sleep(pollMs)
    }
    recorder.write({ type: 'informer', client, objects: current() })
  }

  async #until(condition: () => boolean | Promise<boolean>, failure: string): Promise<void> {
    const deadlineMs = performance.now() + restMsMax
    while (!(await condition())) {
      if (performance.now() > deadlineMs) throw new NotRecovered(`${failure}, within ${restMsMax / 1_000} s`)
      await sleep(pollMs)
    }
  }
}

const progressMs = 10_000

/** Long enough for all backoffs of clients on a busy machine. */
const restMsMax = 90_000
const restTimeoutMs = 5_000
const pollMs = 50

function sorted(objects: Objects): unknown {
  return Object.entries(objects).sort(([left], [right]) => (left < right ? -1 : 1))
}

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

async function sleepUntilAborted(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal }).catch(() => undefined)
}
