import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { TransportError } from '#/client/transport.ts'
import { staleMs } from './staleness.ts'

type Handle = (request: ApiRequest) => Promise<ApiResponse>

/**
 * Writes of controllers of which nobody can know whether they happened: the answer was lost, or never waited for. Who
 * asked for such a write may do it again before he sees what it did. Nobody can do better, and so checkers that allow
 * no slack otherwise excuse a controller for a while after such a write.
 */
export class Doubts {
  readonly #nowMs: () => number
  readonly #lastMs = new Map<string, number>()
  #allMs = -Infinity

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Whether the outcome of some write of this account may still be unknown to it. */
  about(account: string): boolean {
    const lastMs = Math.max(this.#allMs, this.#lastMs.get(account) ?? -Infinity)
    return this.#nowMs() - lastMs < staleMs
  }

  /** Whether that was ever so. */
  everAbout(account: string): boolean {
    return this.#allMs > -Infinity || this.#lastMs.has(account)
  }

  /** A whole manager is gone, with whatever it had under way. */
  noteAll(): void {
    this.#allMs = this.#nowMs()
  }

  /** Notices what happens to the writes of an account. */
  watching(account: string, handle: Handle): Handle {
    const note = (): void => void this.#lastMs.set(account, this.#nowMs())
    return async request => {
      if (request.method === 'GET') return handle(request)
      request.signal.addEventListener('abort', note, { once: true })
      try {
        return await handle(request)
      } catch (error) {
        if (!(error instanceof TransportError) || error.sent) note()
        throw error
      } finally {
        request.signal.removeEventListener('abort', note)
      }
    }
  }
}
