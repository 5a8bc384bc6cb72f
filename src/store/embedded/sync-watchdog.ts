/**
 * Measures syncs of the disk, and reports one that takes long while it still runs. There is at most one timer, which is
 * armed again only if a sync runs when it fires: a fast disk costs one timer per second.
 */
import type { Clock, FileStep, FileWriter, Log, Timer } from '#/platform/platform.ts'
import type { Alarms } from '../alarms.ts'

export interface SyncWatchdogOptions {
  readonly clock: Clock
  readonly log: Log
  readonly alarms: Alarms
  /** Called with the duration of each sync. */
  readonly onSync?: (seconds: number) => void
}

export class SyncWatchdog implements Disposable {
  readonly #options: SyncWatchdogOptions
  /** Monotonic times at which the running syncs were begun, oldest first. */
  readonly #running = new Set<{ readonly startMs: number; isReported: boolean }>()
  #timer: Timer | undefined

  constructor(options: SyncWatchdogOptions) {
    this.#options = options
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
    const { clock, log, alarms, onSync } = this.#options
    const sync = { startMs: clock.monotonicMs(), isReported: false }
    this.#running.add(sync)
    this.#timer ??= clock.setTimer(slowSyncMs, () => this.#check())
    try {
      await writer.perform(steps)
    } finally {
      this.#running.delete(sync)
      const tookMs = clock.monotonicMs() - sync.startMs
      onSync?.(tookMs / 1_000)
      if (tookMs >= slowSyncMs) log.warn('slow fdatasync', { tookMs, expectedMs: slowSyncMs })
      if (alarms.has('STALL') && this.#stalled() === undefined) alarms.clear('STALL')
    }
  }

  #check(): void {
    const { clock, log, alarms } = this.#options
    this.#timer = undefined
    const nowMs = clock.monotonicMs()
    for (const sync of this.#running) {
      if (sync.isReported || nowMs - sync.startMs < slowSyncMs) continue
      sync.isReported = true
      log.warn('fdatasync has not returned', { forMs: nowMs - sync.startMs })
    }
    const stalled = this.#stalled()
    if (stalled)
      alarms.raise('STALL', `the disk of the store has not completed a sync for ${stallMs / 1_000} s`)
    if (this.#running.size > 0) this.#timer = clock.setTimer(slowSyncMs, () => this.#check())
  }

  #stalled(): object | undefined {
    const sinceMs = this.#options.clock.monotonicMs() - stallMs
    return [...this.#running].find(({ startMs }) => startMs <= sinceMs)
  }
}

function isSync({ type }: FileStep): boolean {
  return type === 'sync'
}

/** The bound of etcd. */
const slowSyncMs = 1_000

/** A sync that takes longer raises the alarm. */
const stallMs = 10_000
