/** What one connection may do, and the requests that are open on it. */
import type { ClientCertificate, HttpConnection, HttpLimits, HttpRejection } from '../../http.ts'
import type { CheckedCertificate } from './client-certificate.ts'
import { RateBound } from './rate-bound.ts'

export interface OpenExchange {
  /** Bytes of the answer that wait because the client does not read. */
  readonly unsentBytes: number
  /** For how long they may; the limit of the server when absent. */
  readonly stallTimeoutMs: number | undefined
  abort(): void
}

/** How the protocol in use ends its connection. */
export interface Transport {
  /** Once the open requests are answered. */
  close(): void
  destroy(): void
}

export interface ConnectionOptions extends CheckedCertificate {
  readonly address: string
  readonly limits: HttpLimits
  readonly transport: Transport
  readonly onRejected: (reason: HttpRejection) => void
}

export class Connection implements HttpConnection {
  readonly address: string
  readonly certificate?: ClientCertificate
  readonly certificateError?: string
  readonly limits: HttpLimits
  readonly #transport: Transport
  readonly #onRejected: (reason: HttpRejection) => void
  readonly #resets: RateBound
  readonly #controlFrames: RateBound
  /** Each with what was unsent when it was last looked at, if anything. */
  readonly #open = new Map<OpenExchange, Unsent | undefined>()
  /** Since when no request is open. */
  #idleSinceMs = performance.now()
  /** Since when the client has not said that it knows what we allow; undefined once it has. */
  #unsettledSinceMs: number | undefined
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
    const { resetsBurst, resetsPerSecond, controlFramesBurst, controlFramesPerSecond } = options.limits
    this.#resets = new RateBound(resetsBurst, resetsPerSecond)
    this.#controlFrames = new RateBound(controlFramesBurst, controlFramesPerSecond)
  }

  /** No further request is wanted. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  get openCount(): number {
    return this.#open.size
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

  /** Some bounds hold only for a client that says it knows them, so it has to. */
  awaitSettings(): void {
    this.#unsettledSinceMs = performance.now()
  }

  settled(): void {
    this.#unsettledSinceMs = undefined
  }

  /** The client gave up before it had its answer. */
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

  /** Another protocol has the connection: its end is no longer ours to decide, but when the server stops. */
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

  /** Looks for what takes too long. */
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

/** A client that was told to go and does not is cut off after this. */
const closingGraceMs = 5_000
