/** One connection with its limits and open requests. */
import type { ClientCertificate, HttpConnection, HttpLimits, HttpRejection } from '../../http.ts'
import type { CheckedCertificate } from './client-certificates.ts'

export interface OpenExchange {
  /** Bytes of the response that the client has not read yet. */
  readonly unsentBytes: number
  /** Overrides the server's limit if present. */
  readonly stallTimeoutMs: number | undefined
  abort(): void
}

/** Protocol-specific shutdown of a connection. */
export interface Transport {
  /** After the pending requests are answered. */
  close(): void
  destroy(): void
}

export interface ConnectionOptions extends CheckedCertificate {
  readonly address: string
  readonly limits: HttpLimits
  readonly transport: Transport
  readonly onRejected: (reason: HttpRejection) => void
  /** Called once. */
  readonly onAuthenticated: () => void
}

export class Connection implements HttpConnection {
  readonly address: string
  readonly certificate?: ClientCertificate
  readonly certificateError?: string
  readonly limits: HttpLimits
  readonly #transport: Transport
  readonly #onRejected: (reason: HttpRejection) => void
  readonly #resets: RateLimiter
  readonly #controlFrames: RateLimiter
  /** With the unsent bytes at the last sweep, if any. */
  readonly #open = new Map<OpenExchange, Unsent | undefined>()
  /** Time since which no request is open. */
  #idleSinceMs = performance.now()
  /** Time since which the SETTINGS acknowledgement is pending; undefined once it has arrived. */
  #unsettledSinceMs: number | undefined
  readonly #onAuthenticated: () => void
  #isAuthenticated = false
  #isTaken = false
  #isRejected = false
  #isClosing = false

  constructor(options: ConnectionOptions) {
    this.address = options.address
    this.certificate = options.certificate
    this.certificateError = options.certificateError
    this.limits = options.limits
    this.#transport = options.transport
    this.#onRejected = options.onRejected
    this.#onAuthenticated = options.onAuthenticated
    const { resetsBurst, resetsPerSecond, controlFramesBurst, controlFramesPerSecond } = options.limits
    this.#resets = new RateLimiter(resetsBurst, resetsPerSecond)
    this.#controlFrames = new RateLimiter(controlFramesBurst, controlFramesPerSecond)
  }

  /** True if no further request is accepted. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  get openCount(): number {
    return this.#open.size
  }

  authenticated(): void {
    if (this.#isAuthenticated) return
    this.#isAuthenticated = true
    this.#onAuthenticated()
  }

  opened(exchange: OpenExchange): void {
    this.#open.set(exchange, undefined)
  }

  closed(exchange: OpenExchange): void {
    this.#open.delete(exchange)
    if (this.#open.size > 0) return
    this.#idleSinceMs = performance.now()
    if (this.#isClosing && !this.#isTaken) this.#transport.close()
  }

  /** Requires a SETTINGS acknowledgement in time: some limits apply only after it. */
  awaitSettings(): void {
    this.#unsettledSinceMs = performance.now()
  }

  settled(): void {
    this.#unsettledSinceMs = undefined
  }

  /** Counts a stream reset by the client before the response was complete. */
  countReset(): void {
    if (!this.#resets.take()) this.reject('flood')
  }

  countControlFrame(): void {
    if (!this.#controlFrames.take()) this.reject('flood')
  }

  count(reason: HttpRejection): void {
    this.#onRejected(reason)
  }

  reject(reason: HttpRejection): void {
    if (this.#isRejected) return
    this.#isRejected = true
    this.#onRejected(reason)
    this.#transport.destroy()
  }

  /**
   * The connection was upgraded to another protocol: timeouts no longer apply, and only stopping the server
   * closes it.
   */
  taken(): void {
    this.#isTaken = true
  }

  close(): void {
    this.#isClosing = true
    if (!this.#isTaken) this.#transport.close()
  }

  destroy(): void {
    this.#transport.destroy()
  }

  /** Enforces the timeouts. */
  sweep(nowMs: number): void {
    if (this.#isTaken) return
    const { headerTimeoutMs, idleTimeoutMs, stallTimeoutMs } = this.limits
    if (this.#unsettledSinceMs !== undefined && nowMs - this.#unsettledSinceMs > headerTimeoutMs) {
      return this.reject('slow-request')
    }
    if (this.#open.size === 0) {
      const idleMs = nowMs - this.#idleSinceMs
      if (idleMs > idleTimeoutMs + closingGraceMs) this.destroy()
      else if (idleMs > idleTimeoutMs && !this.#isClosing) this.close()
      return
    }
    for (const [exchange, before] of this.#open) {
      const bytes = exchange.unsentBytes
      if (bytes === 0) {
        if (before !== undefined) this.#open.set(exchange, undefined)
      } else if (bytes !== before?.bytes) {
        this.#open.set(exchange, { bytes, sinceMs: nowMs })
      } else if (nowMs - before.sinceMs > (exchange.stallTimeoutMs ?? stallTimeoutMs)) {
        this.#onRejected('slow-reader')
        exchange.abort()
      }
    }
  }
}

interface Unsent {
  readonly bytes: number
  readonly sinceMs: number
}

/** Grace period after closing an idle connection, before it is destroyed. */
const closingGraceMs = 5_000

/** Rate limit with a burst. */
class RateLimiter {
  readonly #burst: number
  readonly #perSecond: number
  #left: number
  #filledMs: number

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#left = burst
    this.#filledMs = performance.now()
  }

  /** Returns false if the limit is exceeded. */
  take(): boolean {
    const nowMs = performance.now()
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#filledMs) / 1_000) * this.#perSecond)
    this.#filledMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
