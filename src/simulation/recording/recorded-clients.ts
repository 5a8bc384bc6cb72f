/**
 * The clients of one run, which record what they do and see: workers that read and write, watchers and informers. After
 * the last fault they come to rest, so that the end of the history shows what is left.
 */
import { isDeepStrictEqual } from 'node:util'
import { SeededRandom } from '#/base/seeded-random.ts'
import type { Clock } from '#/platform/platform.ts'
import type { HistoryRecorder, Listing, Objects } from '../history/history.ts'
import { markerKey } from './config-maps.ts'
import type { ObjectClient } from './object-client.ts'
import { Watcher } from './watcher.ts'
import { RecordingClient, runWorkload } from './workload.ts'

export interface NamedClient {
  readonly name: string
  readonly client: ObjectClient
}

export interface ClientsByRole {
  readonly workers: readonly NamedClient[]
  readonly watchers: readonly NamedClient[]
  readonly informers: readonly NamedClient[]
}

export interface RecordedClientsOptions {
  readonly clients: ClientsByRole
  readonly recorder: HistoryRecorder
  readonly clock: Clock
  readonly seed: string
  /** The number of objects, which all workers share. */
  readonly keyCount: number
  /** Average pause of a worker between two requests. */
  readonly pauseMs: number
  /** Time to recover after the last fault: longer than all backoffs and timeouts of clients. */
  readonly restMsMax: number
}

/** The cluster serves no request although all faults have ended: a violation, too. */
export class NotRecovered extends Error {}

export class RecordedClients {
  readonly #options: RecordedClientsOptions
  readonly #watchers: readonly Watcher[]
  #watching: Promise<unknown> = Promise.resolve()
  #informers: readonly { readonly name: string; readonly objects: () => Objects }[] = []

  constructor(options: RecordedClientsOptions) {
    this.#options = options
    const { clients, recorder, clock } = options
    this.#watchers = clients.watchers.map(each => {
      return new Watcher({ ...each, recorder, clock, random: this.#random(each.name) })
    })
  }

  /** Starts watchers and informers. Resolves when all watchers have a position. */
  async observe(signal: AbortSignal): Promise<void> {
    const { informers } = this.#options.clients
    this.#watching = Promise.all(this.#watchers.map(watcher => watcher.run(signal)))
    this.#informers = informers.map(({ name, client }) => ({ name, objects: client.startInformer(signal) }))
    await this.#until(() => this.#watchers.every(watcher => watcher.hasStarted), 'watchers do not start')
  }

  /** Resolves when the watchers have ended, after the abort of the signal. */
  async ended(): Promise<void> {
    await this.#watching
  }

  /** Reads and writes until aborted. Resolves when all requests have returned. */
  async work(signal: AbortSignal): Promise<void> {
    const { clients, recorder, clock, keyCount, pauseMs } = this.#options
    const shared = { recorder, clock, keyCount, pauseMs }
    const work = clients.workers.map(each => {
      return runWorkload({ ...each, ...shared, random: this.#random(each.name) }, signal)
    })
    await Promise.all(work)
  }

  /** All watchers see a last write; then the end is recorded. Throws NotRecovered. */
  async comeToRest(): Promise<void> {
    const { clock, restMsMax } = this.#options
    const revision = await this.#writeMarker()
    for (const watcher of this.#watchers) watcher.stopAt(revision)
    // The check reports watchers that have not arrived.
    const late = new AbortController()
    const deadline = clock.sleep(restMsMax, late.signal).catch(() => undefined)
    await Promise.race([this.#watching, deadline])
    late.abort()
    await this.#recordEnd()
  }

  #random(name: string): SeededRandom {
    return new SeededRandom(`${this.#options.seed} ${name}`)
  }

  async #writeMarker(): Promise<number> {
    const { clients, recorder } = this.#options
    const client = new RecordingClient({ ...clients.workers[0]!, recorder })
    const value = (attempt: number): string => `marker-${attempt}-0`
    let attempt = 0
    const isWritten = async (): Promise<boolean> => {
      const request = { verb: 'apply', key: markerKey, value: value(attempt++) } as const
      return (await client.perform(request, restTimeoutMs)) && client.revisionOf(markerKey) !== undefined
    }
    await this.#until(isWritten, 'no write is acknowledged after the last fault')
    return client.revisionOf(markerKey)!
  }

  /**
   * Waits until all informers are as the server, but records what they have in the end. The server is asked again and
   * again: a write of unknown outcome may be executed late.
   */
  async #recordEnd(): Promise<void> {
    const { recorder, clock, restMsMax } = this.#options
    const deadlineMs = recorder.nowMs() + restMsMax
    let final = await this.#list()
    const isCurrent = ({ objects }: { readonly objects: () => Objects }): boolean =>
      isDeepStrictEqual(sorted(objects()), sorted(final.objects))
    while (!this.#informers.every(isCurrent) && recorder.nowMs() < deadlineMs) {
      await clock.sleep(pollMs)
      final = await this.#list()
    }
    recorder.write({ ...final, isFinal: true })
    for (const { name, objects } of this.#informers) {
      recorder.write({ type: 'informer', client: name, objects: objects() })
    }
  }

  async #list(): Promise<Listing> {
    const { clients, recorder } = this.#options
    const [{ name, client }] = clients.workers as [NamedClient]
    let listing: Listing | undefined
    const isListed = async (): Promise<boolean> => {
      const callMs = recorder.nowMs()
      const result = await client.list({ match: 'consistent' }, restTimeoutMs)
      if (result === undefined || result === 'expired') return false
      const times = { callMs, returnMs: recorder.nowMs() }
      listing = { type: 'list', client: name, match: 'consistent', ...times, ...result }
      return true
    }
    await this.#until(isListed, 'no list is answered after the last fault')
    return listing!
  }

  async #until(condition: () => boolean | Promise<boolean>, failure: string): Promise<void> {
    const { recorder, clock, restMsMax } = this.#options
    const deadlineMs = recorder.nowMs() + restMsMax
    while (!(await condition())) {
      if (recorder.nowMs() > deadlineMs) throw new NotRecovered(`${failure}, within ${restMsMax / 1_000} s`)
      await clock.sleep(pollMs)
    }
  }
}

const restTimeoutMs = 5_000
const pollMs = 500

function sorted(objects: Objects): unknown {
  return Object.entries(objects).sort(([left], [right]) => (left < right ? -1 : 1))
}
