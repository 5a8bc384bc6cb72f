/** Keys of a work queue that become due later. */
import { Heap, type HeapEntry } from '#/base/heap.ts'
import type { Clock, Timer } from '#/platform/platform.ts'

interface DelayedKey {
  readonly key: string
  readonly dueMs: number
  readonly sequence: number
}

/** Keys to be added later, each at most once, at the earliest requested time. All share one timer. */
export class DelayingQueue {
  readonly #clock: Clock
  readonly #onDue: (key: string) => void
  readonly #heap = new Heap<DelayedKey>((left, right) => {
    return left.dueMs - right.dueMs || left.sequence - right.sequence
  })
  readonly #entries = new Map<string, HeapEntry<DelayedKey>>()
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined
  #sequence = 0

  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  get size(): number {
    return this.#heap.size
  }

  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.monotonicMs() + delayMs
    const known = this.#entries.get(key)
    if (known) {
      if (known.value.dueMs <= dueMs) return
      this.#heap.remove(known)
    }
    this.#entries.set(key, this.#heap.push({ key, dueMs, sequence: this.#sequence++ }))
    this.#arm()
  }

  clear(): void {
    this.#timer?.timer.cancel()
    this.#timer = undefined
    this.#entries.clear()
    while (this.#heap.pop() !== undefined);
  }

  #arm(): void {
    const next = this.#heap.peek()
    if (next === undefined || (this.#timer !== undefined && this.#timer.dueMs <= next.dueMs)) return
    this.#timer?.timer.cancel()
    const delayMs = Math.max(0, next.dueMs - this.#clock.monotonicMs())
    this.#timer = { dueMs: next.dueMs, timer: this.#clock.setTimer(delayMs, () => this.#fire()) }
  }

  #fire(): void {
    // The clock may be slightly behind the timer because of rounding.
    const nowMs = Math.max(this.#clock.monotonicMs(), this.#timer?.dueMs ?? 0)
    this.#timer = undefined
    for (let next = this.#heap.peek(); next !== undefined && next.dueMs <= nowMs; next = this.#heap.peek()) {
      this.#heap.pop()
      this.#entries.delete(next.key)
      this.#onDue(next.key)
    }
    this.#arm()
  }
}
