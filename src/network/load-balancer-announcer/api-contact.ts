import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'

export interface ContactTimes {
  /** Interval of the requests. */
  readonly heartbeatMs: number
  /**
   * Time without contact after which the node gives up its addresses. It must be shorter than the time after which
   * the node controller declares a node unreachable, which counts from the last renewal of the kubelet's Lease, up
   * to 10 s before the node was cut off.
   */
  readonly cutOffMs: number
}

const timesUsual: ContactTimes = { heartbeatMs: 10_000, cutOffMs: 30_000 }

/** Retry after a failed request, as a part of the interval. */
const retryPart = 0.2

export interface ApiContactOptions {
  readonly platform: Platform
  readonly client: Client
  readonly nodeName: string
  readonly nodes: Informer<Node>
  readonly times?: Partial<ContactTimes>
}

/**
 * Knows when this node last had contact with the API server: its own Node was read, and the informer of nodes shows
 * everything up to that version. An informer alone does not tell, since a watch without events is silent.
 */
export class ApiContact {
  readonly #options: ApiContactOptions
  readonly #times: ContactTimes
  readonly #log: ThrottledLog
  #lastMs: number | undefined
  /** Undefined while contact does not matter. */
  #nextMs: number | undefined

  constructor(options: ApiContactOptions) {
    this.#options = options
    this.#times = { ...timesUsual, ...options.times }
    this.#log = new ThrottledLog(options.platform)
  }

  /** Time until the node counts as cut off; not positive if it does. */
  remainingMs(): number {
    if (this.#lastMs === undefined) return 0
    return this.#lastMs + this.#times.cutOffMs - this.#options.platform.clock.monotonicMs()
  }

  /** When to call `check` again. */
  dueMs(): number | undefined {
    return this.#nextMs
  }

  /** Stops the requests until the next `check`. */
  pause(): void {
    this.#nextMs = undefined
  }

  /** Sends a request if one is due. */
  async check(signal: AbortSignal): Promise<void> {
    const { platform, nodeName } = this.#options
    const { clock } = platform
    const { heartbeatMs } = this.#times
    const startedMs = clock.monotonicMs()
    if (this.#nextMs !== undefined && startedMs < this.#nextMs) return
    const ending = new AbortController()
    const timer = clock.setTimer(heartbeatMs / 2, () => ending.abort(new Error('no response in time')))
    try {
      await this.#read(AbortSignal.any([signal, ending.signal]))
      // The time of the request: the response may be older than its arrival.
      this.#lastMs = startedMs
      this.#nextMs = startedMs + heartbeatMs
    } catch (error) {
      if (signal.aborted) throw error
      this.#nextMs = clock.monotonicMs() + heartbeatMs * retryPart
      this.#log.warn('contact', 'Node has no contact with the API server', { node: nodeName, error })
    } finally {
      timer.cancel()
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { client, nodeName: name, nodes: informer } = this.#options
    const { metadata } = await client.get(nodes, { name }, { signal })
    await informer.waitUntil(() => informer.isCurrent(metadata.resourceVersion), signal)
  }
}
