/** Connections between simulated hosts and an API server, which break when either end crashes or a fault cuts them. */
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import { abortable, abortableEach } from '#/base/abort.ts'
import { TransportError } from '#/client/transport.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import type { SimulatedHost } from '#/platform/simulated.ts'
import { platformOf } from './host-platform.ts'

export type Handle = (request: ApiRequest) => Promise<ApiResponse>

/** How a disconnected host fails: connections are refused, or requests are never answered. */
export type DisconnectMode = 'refused' | 'silent'

/** What runs on a host, the host itself or a process, until it ends. */
export interface Life {
  readonly hostName: string
  readonly platform: Platform
  /** Aborted at the end. */
  readonly signal: AbortSignal
}

/**
 * The current life of the host; after a restart it has a new one, whose resources the code of the old one must
 * not use.
 */
export function lifeOf(host: SimulatedHost): Life {
  return { hostName: host.name, platform: platformOf(host), signal: host.signal }
}

export interface SimulatedConnectionsOptions {
  /** The API server that a host uses; undefined when none is up. */
  readonly serverFor: (hostName: string) => Handle | undefined
  readonly nowMs: () => number
  readonly onViolation: (violation: string) => void
}

/**
 * Limit of requests while no virtual time passes. Beyond it an endless loop is reported, and requests are no
 * longer answered.
 */
const requestsAtOnceMax = 20_000

export class SimulatedConnections {
  readonly #options: SimulatedConnectionsOptions
  readonly #links = new Map<string, Link>()
  #nowMs = 0
  #requestsNow = 0

  constructor(options: SimulatedConnectionsOptions) {
    this.#options = options
  }

  /**
   * A handler of requests from this life: after its end, it neither sends requests nor receives responses. A
   * response arrives in a turn of its event loop, and therefore not while it stalls.
   */
  from({ hostName, platform: { clock }, signal }: Life): Handle {
    return async request => {
      if (signal.aborted) return never()
      try {
        const response = await this.#carry(hostName, request)
        if (response.body?.type !== 'stream') return response
        const chunks = inTurns(response.body.chunks, clock)
        return { ...response, body: { ...response.body, chunks } }
      } finally {
        await clock.turn()
      }
    }
  }

  disconnect(hostName: string, mode: DisconnectMode): void {
    this.#break(hostName, mode === 'silent' ? silence : reset())
    this.#links.set(hostName, newLink(mode))
  }

  /** Allows new connections; broken ones stay broken. */
  reconnect(hostName: string): void {
    this.#break(hostName, silence)
    this.#links.delete(hostName)
  }

  /** The API server of these hosts has crashed: their connections are reset. */
  reset(hostNames: readonly string[]): void {
    for (const name of hostNames) {
      const link = this.#links.get(name)
      if (link === undefined) continue
      this.#break(name, reset())
      this.#links.set(name, newLink(link.mode))
    }
  }

  #isTooMuch(hostName: string, { method, path }: ApiRequest): boolean {
    const nowMs = this.#options.nowMs()
    this.#requestsNow = nowMs === this.#nowMs ? this.#requestsNow + 1 : 1
    this.#nowMs = nowMs
    if (this.#requestsNow === requestsAtOnceMax) {
      this.#options.onViolation(`${hostName} repeats ${method} ${path} without virtual time passing`)
    }
    return this.#requestsNow >= requestsAtOnceMax
  }

  #break(hostName: string, reason: unknown): void {
    this.#links.get(hostName)?.broken.abort(reason)
  }

  async #carry(hostName: string, request: ApiRequest): Promise<ApiResponse> {
    const link = this.#links.getOrInsertComputed(hostName, () => newLink(undefined))
    if (link.mode === 'silent' || this.#isTooMuch(hostName, request)) return never()
    const handle = this.#options.serverFor(hostName)
    if (handle === undefined || link.mode === 'refused') {
      throw new TransportError('unreachable', 'connection refused', { sent: false })
    }
    const { signal } = link.broken
    const response = await unlessSilent(abortable(handle(request), signal))
    if (response.body?.type !== 'stream') return response
    return { ...response, body: { ...response.body, chunks: carried(response.body.chunks, signal) } }
  }
}

async function* carried<T>(
  chunks: AsyncIterable<T>,
  broken: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* abortableEach(chunks, broken)
  } catch (error) {
    if (error === silence) await never()
    throw error
  }
}

async function* inTurns<T>(chunks: AsyncIterable<T>, clock: Clock): AsyncGenerator<T, void, undefined> {
  try {
    for await (const chunk of chunks) {
      await clock.turn()
      yield chunk
    }
  } finally {
    await clock.turn()
  }
}

async function unlessSilent<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise
  } catch (error) {
    return error === silence ? never() : Promise.reject(error)
  }
}

interface Link {
  readonly mode: DisconnectMode | undefined
  /** Aborted when requests and streams on the link are lost. */
  readonly broken: AbortController
}

function newLink(mode: DisconnectMode | undefined): Link {
  return { mode, broken: new AbortController() }
}

/** Abort reason of a silent cut: the request never completes. */
const silence = new Error('connection silently cut')

function reset(): TransportError {
  return new TransportError('interrupted', 'connection reset')
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
