/**
 * Measures syncs of the disk, and reports one that takes long while it still runs. There is at most one timer, which is
 * armed again only if a sync runs when it fires: a fast disk costs one timer per second.
 */
import type { Clock, FileStep, FileWriter, Log, Timer } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { Alarms } from '../alarms.ts'

export interface SyncWatchdogOptions {
  readonly clock: Clock
  readonly log: Log
  readonly alarms: Alarms
  /** Called with the duration of each sync. */
  readonly onSync?: (seconds: number) => void
  /** Called with the duration of each sync that took long. */
  readonly onSlowSync?: (tookMs: number) => void
}

export class SyncWatchdog implements Disposable {
  readonly #options: SyncWatchdogOptions
  readonly #log: ThrottledLog
  /** Monotonic time at which the running sync was begun; the journal has one at a time. */
  #startMs: number | undefined
  #isReported = false
  #timer: Timer | undefined

  constructor(options: SyncWatchdogOptions) {
    this.#options = options
    this.#log = new ThrottledLog(options)
  }

  /** Adds the supervision to a writer. */
  watched(writer: FileWriter): FileWriter {
    return {
      perform: steps => (steps.some(isSync) ? this.#measure(writer, steps) : writer.perform(steps)),
      [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
  }

  async #measure(writer: FileWriter, steps: readonly FileStep[]): Promise<void> {
    const { clock } = this.#options
    const startMs = clock.monotonicMs()
    this.#startMs = startMs
    this.#timer ??= clock.setTimer(slowSyncMs, () => this.#check())
    try {
      await writer.perform(steps)
    } finally {
      this.#end(clock.monotonicMs() - startMs)
    }
  }

  #end(tookMs: number): void {
    const { alarms, onSync, onSlowSync } = this.#options
    this.#startMs = undefined
    onSync?.(tookMs / 1_000)
    if (tookMs < slowSyncMs) return
    this.#isReported = false
    onSlowSync?.(tookMs)
    this.#log.warn('slow', 'slow fdatasync', { tookMs, expectedMs: slowSyncMs })
    alarms.clear('STALL')
  }

  #check(): void {
    const { clock, alarms } = this.#options
    this.#timer = undefined
    if (this.#startMs === undefined) return
    const forMs = clock.monotonicMs() - this.#startMs
    if (forMs >= slowSyncMs && !this.#isReported) {
      this.#isReported = true
      this.#log.warn('running', 'fdatasync has not returned', { forMs })
    }
    if (forMs >= stallMs) {
      alarms.raise('STALL', `the disk of the store has not completed a sync for ${stallMs / 1_000} s`)
    }
    this.#timer = clock.setTimer(slowSyncMs, () => this.#check())
  }
}

function isSync({ type }: FileStep): boolean {
  return type === 'sync'
}

/** The bound of etcd. */
const slowSyncMs = 1_000

/** A sync that takes longer raises the alarm. */
const stallMs = 10_000
