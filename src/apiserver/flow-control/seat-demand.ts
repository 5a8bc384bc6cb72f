/** Tracks seats in use or waited for over time. */
import type { Demand } from './plan-concurrency-limits.ts'

export class SeatDemand {
  #now = 0
  #sinceMs: number
  #startMs: number
  #high = 0
  /** Time integrals since `#startMs`. */
  #sum = 0
  #sumOfSquares = 0

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
    this.#startMs = nowMs
  }

  add(seats: number, nowMs: number): void {
    this.#integrate(nowMs)
    this.#now += seats
    if (this.#now > this.#high) this.#high = this.#now
  }

  /** The demand since the last call. */
  takePeriod(nowMs: number): Demand {
    this.#integrate(nowMs)
    const lengthMs = nowMs - this.#startMs
    const average = lengthMs > 0 ? this.#sum / lengthMs : this.#now
    const variance = lengthMs > 0 ? this.#sumOfSquares / lengthMs - average * average : 0
    const demand = { high: this.#high, average, deviation: Math.sqrt(Math.max(0, variance)) }
    this.#startMs = nowMs
    this.#high = this.#now
    this.#sum = 0
    this.#sumOfSquares = 0
    return demand
  }

  #integrate(nowMs: number): void {
    const lengthMs = nowMs - this.#sinceMs
    this.#sum += this.#now * lengthMs
    this.#sumOfSquares += this.#now * this.#now * lengthMs
    this.#sinceMs = nowMs
  }
}
