import { performance } from 'node:perf_hooks'
import type {
  CallRecord,
  FaultRecord,
  HistoryRecord,
  HistoryRecorder,
  Operation,
  WatchSession,
} from '#/simulation/history/history.ts'
import { HistoryWriter } from './history-file.ts'

/** What has happened so far, for progress lines and the report. */
export interface Tally {
  readonly operations: number
  readonly acknowledgedWrites: number
  readonly unknownOutcomes: number
  readonly watchedEvents: number
  /** Longest time in which no write was acknowledged. */
  readonly longestUnavailableMs: number
  readonly expiredWatches: number
  readonly expiredLists: number
  /** By kind, and by outcome if there are several. */
  readonly faults: Readonly<Record<string, number>>
}

/** Collects the records of all clients, with the times of one clock. */
export class Recorder implements HistoryRecorder, AsyncDisposable {
  readonly #writer: HistoryWriter
  readonly #faults: Record<string, number> = {}
  #operations = 0
  #acknowledgedWrites = 0
  #unknownOutcomes = 0
  #watchedEvents = 0
  #expiredWatches = 0
  #expiredLists = 0
  #lastAcknowledgedMs: number | undefined
  #longestUnavailableMs = 0

  constructor(path: string) {
    this.#writer = new HistoryWriter(path)
  }

  nowMs(): number {
    return performance.now()
  }

  write(record: HistoryRecord | CallRecord): void {
    this.#writer.write(record)
    if (record.type === 'operation') this.#countOperation(record)
    if (record.type === 'watch') this.#countWatch(record)
    if (record.type === 'expired-list') this.#expiredLists++
    if (record.type === 'fault') this.#countFault(record)
  }

  tally(): Tally {
    return {
      operations: this.#operations,
      acknowledgedWrites: this.#acknowledgedWrites,
      unknownOutcomes: this.#unknownOutcomes,
      watchedEvents: this.#watchedEvents,
      expiredWatches: this.#expiredWatches,
      expiredLists: this.#expiredLists,
      longestUnavailableMs: this.#longestUnavailableMs,
      faults: this.#faults,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer[Symbol.asyncDispose]()
  }

  #countWatch({ events, end }: WatchSession): void {
    this.#watchedEvents += events.length
    if (end === 'expired') this.#expiredWatches++
  }

  #countFault({ kind, outcome }: FaultRecord): void {
    const name = outcome === undefined ? kind : `${kind} (${outcome})`
    this.#faults[name] = (this.#faults[name] ?? 0) + 1
  }

  #countOperation({ verb, outcome, returnMs }: Operation): void {
    this.#operations++
    if (outcome.type === 'unknown') this.#unknownOutcomes++
    if (verb === 'get' || outcome.type !== 'ok') return
    this.#acknowledgedWrites++
    const gapMs = returnMs - (this.#lastAcknowledgedMs ?? returnMs)
    this.#longestUnavailableMs = Math.max(this.#longestUnavailableMs, gapMs)
    this.#lastAcknowledgedMs = returnMs
  }
}
