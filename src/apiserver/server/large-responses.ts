/**
 * Bounds the number of large responses being sent, each of which keeps a list of objects and some encoded pieces in
 * memory. Past the bound further responses wait, and responses whose clients read nothing are aborted while others
 * wait.
 */
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface LargeResponsesOptions {
  readonly clock: Clock
  readonly sendingMax: number
  /** Maximum number of waiting responses; past it they are rejected. */
  readonly waitingMax?: number
  /** Maximum time without progress while other responses wait. */
  readonly stallTimeoutMs?: number
}

export class LargeResponses {
  readonly #clock: Clock
  readonly #sendingMax: number
  readonly #waitingMax: number
  readonly #stallTimeoutMs: number
  /** With the time of the last progress, least recent first. */
  readonly #sending = new Map<HttpExchange, number>()
  readonly #waiting = new Map<HttpExchange, (outcome: 'entered' | 'closed') => void>()
  #timer: Timer | undefined
  /** Time in which this process did not run its timers, and so did not notice what clients have read. */
  #lateMs = 0

  constructor({ clock, sendingMax, waitingMax = 1_000, stallTimeoutMs = 10_000 }: LargeResponsesOptions) {
    this.#clock = clock
    this.#sendingMax = sendingMax
    this.#waitingMax = waitingMax
    this.#stallTimeoutMs = stallTimeoutMs
  }

  tryEnter(exchange: HttpExchange): boolean {
    if (this.#sending.size >= this.#sendingMax || this.#waiting.size > 0) return false
    this.#sending.set(exchange, this.#activeMs())
    return true
  }

  /**
   * Resolves when the response may be sent, the client has disconnected, or at once if too many responses
   * wait.
   */
  async enter(exchange: HttpExchange): Promise<'entered' | 'closed' | 'full'> {
    if (this.#waiting.size >= this.#waitingMax) return 'full'
    const { promise, resolve } = Promise.withResolvers<'entered' | 'closed'>()
    this.#waiting.set(exchange, resolve)
    exchange.onClose(() => {
      this.#waiting.delete(exchange)
      resolve('closed')
    })
    if (this.#timer === undefined) this.#checkLater()
    return promise
  }

  progressed(exchange: HttpExchange): void {
    if (this.#sending.delete(exchange)) this.#sending.set(exchange, this.#activeMs())
  }

  leave(exchange: HttpExchange): void {
    this.#sending.delete(exchange)
    for (const [next, resolve] of this.#waiting) {
      if (this.#sending.size >= this.#sendingMax) return
      this.#waiting.delete(next)
      this.#sending.set(next, this.#activeMs())
      resolve('entered')
    }
  }

  /** Time in which this process would have noticed progress. */
  #activeMs(): number {
    return this.#clock.monotonicMs() - this.#lateMs
  }

  #checkLater(): void {
    const intervalMs = this.#stallTimeoutMs / checksPerTimeout
    const dueMs = this.#clock.monotonicMs() + intervalMs
    this.#timer = this.#clock.setTimer(intervalMs, () => {
      this.#timer = undefined
      this.#lateMs += this.#clock.monotonicMs() - dueMs
      this.#abortStalled()
      if (this.#waiting.size > 0) this.#checkLater()
    })
  }

  #abortStalled(): void {
    const nowMs = this.#activeMs()
    for (const [exchange, progressedMs] of this.#sending) {
      if (nowMs - progressedMs < this.#stallTimeoutMs) return
      exchange.abort()
      this.leave(exchange)
    }
  }
}

const checksPerTimeout = 10
