/** A client that follows all objects with watches, resumes them where they ended, and records what it sees. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Clock } from '#/platform/platform.ts'
import type { HistoryRecorder, Version, WatchedEvent } from '../history/history.ts'
import type { ObjectClient } from './object-client.ts'

export interface WatcherOptions {
  readonly name: string
  readonly client: ObjectClient
  readonly recorder: HistoryRecorder
  readonly clock: Clock
  readonly random: SeededRandom
}

export class Watcher {
  readonly #options: WatcherOptions
  /** The revision up to which everything was seen; undefined when a list is needed. */
  #position: number | undefined
  /** The first position after the last list: older revisions may be compacted, or of a store that was replaced. */
  #firstPosition = 0
  #untilRevision = Infinity
  #session: AbortController | undefined

  constructor(options: WatcherOptions) {
    this.#options = options
  }

  get hasStarted(): boolean {
    return this.#position !== undefined
  }

  /** Ends when this revision was seen. */
  stopAt(revision: number): void {
    this.#untilRevision = revision
    this.#stopIfDone()
  }

  /** Until the revision of `stopAt` was seen, or aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { random, clock } = this.#options
    while (!signal.aborted && !this.#isDone) {
      const isList = this.#position === undefined && random.integer(2) === 0
      const hasProgress = isList ? await this.#list() : await this.#watch(signal)
      if (!hasProgress) await clock.sleep(retryPauseMs)
      else if (random.integer(lateEvery) === 0) await clock.sleep(random.integer(lateMsMax))
    }
  }

  get #isDone(): boolean {
    return (this.#position ?? 0) >= this.#untilRevision
  }

  async #list(): Promise<boolean> {
    const { name, client, recorder } = this.#options
    const callMs = recorder.nowMs()
    const result = await client.list({ match: 'consistent' }, listTimeoutMs)
    if (result === undefined || result === 'expired') return false
    const returnMs = recorder.nowMs()
    recorder.write({ type: 'list', client: name, match: 'consistent', callMs, returnMs, ...result })
    this.#begin(result.revision)
    return true
  }

  #begin(revision: number): void {
    this.#position = revision
    this.#firstPosition = revision
  }

  /** Where it was, or a while before, so that events are replayed. */
  #drawStart(): number | undefined {
    const { random } = this.#options
    if (this.#position === undefined || random.integer(replayEvery) > 0) return this.#position
    return Math.max(this.#firstPosition, this.#position - random.integer(replayedMax))
  }

  async #watch(signal: AbortSignal): Promise<boolean> {
    const { name, client, recorder, random } = this.#options
    this.#session = new AbortController()
    let afterRevision = this.#drawStart()
    const initial = new Map<string, Version>()
    const events: WatchedEvent[] = []
    const callMs = recorder.nowMs()
    const end = await client.watch({
      ...(afterRevision !== undefined && { afterRevision }),
      timeoutSeconds: timeoutsSeconds[random.integer(timeoutsSeconds.length)]!,
      signal: AbortSignal.any([signal, this.#session.signal]),
      onEvent: event => {
        if (afterRevision === undefined) {
          collectInitial(initial, event)
          return
        }
        events.push(event)
        this.#position = Math.max(this.#position!, event.revision)
        this.#stopIfDone()
      },
      onInitialEventsEnd: revision => {
        const objects = Object.fromEntries(initial)
        const times = { callMs, returnMs: recorder.nowMs() }
        recorder.write({ type: 'list', client: name, match: 'consistent', ...times, revision, objects })
        afterRevision = revision
        this.#begin(revision)
        this.#stopIfDone()
      },
    })
    const endMs = recorder.nowMs()
    const isSilentFailure = end === 'failed' && events.length === 0
    if (afterRevision !== undefined && !isSilentFailure) {
      recorder.write({ type: 'watch', client: name, callMs, endMs, afterRevision, end, events })
    }
    if (end === 'expired') this.#position = undefined
    return end !== 'failed'
  }

  #stopIfDone(): void {
    if (this.#isDone) this.#session?.abort()
  }
}

function collectInitial(initial: Map<string, Version>, event: WatchedEvent): void {
  if (event.type === 'BOOKMARK') return
  const { key, value, revision } = event
  if (event.type === 'DELETED') initial.delete(key)
  else initial.set(key, { value, revision })
}

/** Short ones are resumed often, long ones get bookmarks. */
const timeoutsSeconds = [3, 20, 90]

/** Every fifth watch begins up to this many revisions before the position. */
const replayEvery = 5
const replayedMax = 2_000

/** Every eighth watch is resumed late, when its position may be compacted. */
const lateEvery = 8
const lateMsMax = 8_000

const listTimeoutMs = 5_000
const retryPauseMs = 200
