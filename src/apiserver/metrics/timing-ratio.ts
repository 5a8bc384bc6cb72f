import type { HistogramSeries } from '#/base/metrics.ts'

/**
 * The ratio of a number to a limit over time, in a histogram: each bucket counts the nanoseconds during which the ratio
 * was in it.
 */
export class TimingRatio {
  readonly #series: HistogramSeries
  #value = 0
  #limit = 1
  #sinceMs: number

  constructor(series: HistogramSeries, nowMs: number) {
    this.#series = series
    this.#sinceMs = nowMs
  }

  add(amount: number, nowMs: number): void {
    this.advance(nowMs)
    this.#value += amount
  }

  setLimit(limit: number, nowMs: number): void {
    this.advance(nowMs)
    this.#limit = Math.max(1, limit)
  }

  advance(nowMs: number): void {
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs <= 0) return
    this.#series.observe(this.#value / this.#limit, Math.round(elapsedMs * nanosecondsPerMs))
    this.#sinceMs = nowMs
  }
}

const nanosecondsPerMs = 1e6
