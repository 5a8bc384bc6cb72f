/**
 * Bounds what large answers that are being sent hold in memory together. Clients that do not read could
 * otherwise make the server hold any number of lists for them. At the bound further answers wait; who has not
 * read anything for a while is cut off as soon as others wait.
 */
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface SendingBudgetOptions {
  readonly clock: Clock
  readonly bytesMax: number
  /** Answers that wait; one more is refused. */
  readonly waitingMax?: number
  /** How long an answer may make no progress while others wait. */
  readonly patienceMs?: number
}

export class SendingBudget {
  readonly #clock: Clock
  readonly #bytesMax: number
  readonly #waitingMax: number
  readonly #patienceMs: number
  /** Least recently progressed first. */
  readonly #sending = new Map<HttpExchange, Sending>()
  readonly #waiting = new Set<Waiting>()
  #heldBytes = 0
  #timer: Timer | undefined

  constructor({ clock, bytesMax, waitingMax = 1_000, patienceMs = 2_000 }: SendingBudgetOptions) {
    this.#clock = clock
    this.#bytesMax = bytesMax
    this.#waitingMax = waitingMax
    this.#patienceMs = patienceMs
  }

  /** An answer that is larger than everything together may be sent alone. */
  tryEnter(exchange: HttpExchange, sizeBytes: number): boolean {
    const hasRoom = this.#sending.size === 0 || this.#heldBytes + sizeBytes <= this.#bytesMax
    if (!hasRoom || this.#waiting.size > 0) return false
    this.#add(exchange, sizeBytes)
    return true
  }

  /** Resolves when it is the answer's turn, when its client is gone, or at once when too many wait. */
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

  /** Ends answers that nobody reads while others wait for their place, and looks again later. */
  #cutOff(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#waiting.size === 0) return
    const nowMs = this.#clock.monotonicMs()
    for (const [exchange, { progressedMs }] of this.#sending) {
      if (nowMs - progressedMs < this.#patienceMs) break
      exchange.abort()
      this.leave(exchange)
    }
    if (this.#waiting.size > 0) this.#timer = this.#clock.setTimer(this.#patienceMs / 2, () => this.#cutOff())
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
