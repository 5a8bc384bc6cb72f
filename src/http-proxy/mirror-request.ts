/** Copies of requests for mirrors. */
import type { Endpoint } from './backends/endpoint.ts'
import type { ProxyLimits } from './proxy-limits.ts'
import type { BackendEvents, BackendRequest, BackendStream } from './streams.ts'

/**
 * A copy of a request, whose response is ignored. It never delays the request itself: a mirror that is too
 * slow gets an incomplete copy.
 */
export class MirrorRequest implements BackendEvents {
  readonly #endpoint: Endpoint
  readonly #request: BackendRequest
  readonly #limits: ProxyLimits
  #stream: BackendStream | undefined
  /** What has not been taken by the mirror. */
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #isFull = true
  #isEnded = false
  #isClosed = false

  constructor(endpoint: Endpoint, request: BackendRequest, limits: ProxyLimits) {
    this.#endpoint = endpoint
    this.#request = { ...request, upgrade: undefined, expects: undefined, fields: [...request.fields] }
    this.#limits = limits
  }

  start(): void {
    const { signal } = new AbortController()
    const options = { isRepeatable: false, signal, timeoutMs: this.#limits.connectTimeoutMs }
    this.#endpoint.outstanding++
    Promise.resolve(this.#endpoint.open(this.#request, this, options)).then(
      stream => {
        this.#stream = stream
        if (this.#request.bodyLength === 0) return stream.end([])
        this.onBackendDrain()
      },
      () => this.#close(),
    )
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return
    if (!this.#isFull) {
      this.#isFull = this.#stream?.write(bytes) === false
      return
    }
    this.#waiting.push(Uint8Array.from(bytes))
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes > this.#limits.mirrorBytesMax) this.#abort()
  }

  /** The client has sent everything, or the exchange has ended. */
  end(): void {
    this.#isEnded = true
    if (!this.#isFull) this.#stream?.end([])
  }

  onBackendDrain(): void {
    if (this.#isClosed) return
    this.#isFull = false
    for (const bytes of this.#waiting.splice(0)) this.#stream?.write(bytes)
    this.#waitingBytes = 0
    if (this.#isEnded) this.#stream?.end([])
  }

  onInformation(): void {
    // Ignored, as the response.
  }

  onResponse(): void {
    // Ignored.
  }

  onResponseData(): void {
    // Ignored.
  }

  onResponseEnd(): void {
    this.#close()
  }

  onBackendIdle(): void {
    // Nothing is held back.
  }

  onBackendFailure(): void {
    this.#close()
  }

  #abort(): void {
    this.#stream?.abort()
    this.#close()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waiting = []
    this.#endpoint.outstanding--
  }
}
