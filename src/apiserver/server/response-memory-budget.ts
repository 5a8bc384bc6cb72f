/**
 * Bounds the memory of large responses being sent. Otherwise slow clients could make the server hold any
 * number of lists. Past the bound further responses wait, and responses without progress are aborted while
 * others wait.
 */
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface ResponseMemoryBudgetOptions {
  readonly clock: Clock
  readonly bytesMax: number
  /** Maximum number of waiting responses; past it they are rejected. */
  readonly waitingMax?: number
  /** Maximum time without progress while other responses wait. */
  readonly stallTimeoutMs?: number
}

export class ResponseMemoryBudget {
  readonly #clock: Clock
  readonly #bytesMax: number
  readonly #waitingMax: number
  readonly #stallTimeoutMs: number
  /** Least recently progressed first. */
  readonly #sending = new Map<HttpExchange, Sending>()
  readonly #waiting = new Set<Waiting>()
  #heldBytes = 0
  #timer: Timer | undefined

  constructor({ clock, bytesMax, waitingMax = 1_000, stallTimeoutMs = 2_000 }: ResponseMemoryBudgetOptions) {
    this.#clock = clock
    this.#bytesMax = bytesMax
    this.#waitingMax = waitingMax
    this.#stallTimeoutMs = stallTimeoutMs
  }

  /** A response larger than the whole budget may be sent alone. */
  tryEnter(exchange: HttpExchange, sizeBytes: number): boolean {
    const hasRoom = this.#sending.size === 0 || this.#heldBytes + sizeBytes <= this.#bytesMax
    if (!hasRoom || this.#waiting.size > 0) return false
    this.#add(exchange, sizeBytes)
    return true
  }

  /**
   * Resolves when the response may be sent, the client has disconnected, or at once if too many responses
   * wait.
   */
  async enter(exchange: HttpExchange, sizeBytes: number): Promise<'entered' | 'closed' | 'full'> {
    if (this.#waiting.size >= this.#waitingMax) return 'full'
    const { promise, resolve } = Promise.withResolvers<'entered' | 'closed'>()
    const waiting: Waiting = { exchange, sizeBytes, resolve }
    this.#waiting.add(waiting)
    exchange.onClose(() => {
      this.#waiting.delete(waiting)
      resolve('closed')
    })
    this.#cutOff()
    return promise
  }

  progressed(exchange: HttpExchange): void {
    const sending = this.#sending.get(exchange)
    if (sending === undefined) return
    this.#sending.delete(exchange)
    this.#sending.set(exchange, { ...sending, progressedMs: this.#clock.monotonicMs() })
  }

  leave(exchange: HttpExchange): void {
    const sending = this.#sending.get(exchange)
    if (sending === undefined) return
    this.#sending.delete(exchange)
    this.#heldBytes -= sending.sizeBytes
    for (const next of this.#waiting) {
      if (this.#sending.size > 0 && this.#heldBytes + next.sizeBytes > this.#bytesMax) break
      this.#waiting.delete(next)
      this.#add(next.exchange, next.sizeBytes)
      next.resolve('entered')
    }
  }

  #add(exchange: HttpExchange, sizeBytes: number): void {
    this.#sending.set(exchange, { sizeBytes, progressedMs: this.#clock.monotonicMs() })
    this.#heldBytes += sizeBytes
  }

  /** Aborts responses without progress while others wait, and schedules the next check. */
  #cutOff(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#waiting.size === 0) return
    const nowMs = this.#clock.monotonicMs()
    for (const [exchange, { progressedMs }] of this.#sending) {
      if (nowMs - progressedMs < this.#stallTimeoutMs) break
      exchange.abort()
      this.leave(exchange)
    }
    if (this.#waiting.size > 0)
      this.#timer = this.#clock.setTimer(this.#stallTimeoutMs / 2, () => this.#cutOff())
  }
}

interface Sending {
  readonly sizeBytes: number
  readonly progressedMs: number
}

interface Waiting {
  readonly exchange: HttpExchange
  readonly sizeBytes: number
  readonly resolve: (outcome: 'entered' | 'closed') => void
}
