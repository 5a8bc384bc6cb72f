import { performance } from 'node:perf_hooks'
import type { CallRecord, HistoryRecord, HistoryRecorder, Operation } from '#/simulation/history/history.ts'
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
    switch (record.type) {
      case 'operation':
        this.#count(record)
        break
      case 'watch':
        this.#watchedEvents += record.events.length
        if (record.end === 'expired') this.#expiredWatches++
        break
      case 'expired-list':
        this.#expiredLists++
        break
      case 'fault': {
        const { kind, outcome } = record
        const name = outcome === undefined ? kind : `${kind} (${outcome})`
        this.#faults[name] = (this.#faults[name] ?? 0) + 1
        break
      }
    }
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

  #count({ verb, outcome, returnMs }: Operation): void {
    this.#operations++
    if (outcome.type === 'unknown') this.#unknownOutcomes++
    if (verb === 'get' || outcome.type !== 'ok') return
    this.#acknowledgedWrites++
    const gapMs = returnMs - (this.#lastAcknowledgedMs ?? returnMs)
    this.#longestUnavailableMs = Math.max(this.#longestUnavailableMs, gapMs)
    this.#lastAcknowledgedMs = returnMs
  }
}
