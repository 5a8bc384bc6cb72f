import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { TransportError } from '#/client/transport.ts'
import { staleMs } from './recent-history.ts'

export interface UncertainWritesOptions {
  readonly nowMs: () => number
  /** True if the API server itself may not learn the outcome, since its store is remote. */
  readonly isStoreUncertain: boolean
}

type Handle = (request: ApiRequest) => Promise<ApiResponse>

/**
 * Tracks controller writes with an unknown outcome: the response was lost or the request was aborted. The
 * controller may repeat such a write before its informers show the first one. This is unavoidable, so
 * otherwise strict checkers tolerate it for a while.
 */
export class UncertainWrites {
  readonly #options: UncertainWritesOptions
  readonly #lastMs = new Map<string, number>()
  #allMs = -Infinity

  constructor(options: UncertainWritesOptions) {
    this.#options = options
  }

  /** True if the outcome of a recent write of this account may still be unknown to it. */
  isUncertain(account: string): boolean {
    const lastMs = Math.max(this.#allMs, this.#lastMs.get(account) ?? -Infinity)
    return this.#options.nowMs() - lastMs < staleMs
  }

  /** True if the outcome of any write of this account was ever unknown. */
  wasEverUncertain(account: string): boolean {
    return this.#allMs > -Infinity || this.#lastMs.has(account)
  }

  /** A controller manager crashed with writes in progress. */
  markAll(): void {
    this.#allMs = this.#options.nowMs()
  }

  /** Tracks the writes that an account sends through the handler. */
  track(account: string, handle: Handle): Handle {
    const note = (): void => void this.#lastMs.set(account, this.#options.nowMs())
    return async request => {
      if (request.method === 'GET') return handle(request)
      request.signal.addEventListener('abort', note, { once: true })
      try {
        const response = await handle(request)
        if (this.#options.isStoreUncertain && response.status >= 500) note()
        return response
      } catch (error) {
        if (!(error instanceof TransportError) || error.sent) note()
        throw error
      } finally {
        request.signal.removeEventListener('abort', note)
      }
    }
  }
}
