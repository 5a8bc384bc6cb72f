/** One endpoint of a backend: its connections, and what is known about it. */
import type { Duplex } from 'node:stream'
import type { StreamProtocols } from '#/platform/stream-protocols.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Backend, BackendEndpoint } from '../proxy-configuration.ts'
import type { ProxyLimits } from '../proxy-limits.ts'
import type { BackendEvents, BackendRequest, BackendStream } from '../streams.ts'
import { Http1Connection } from './http1-connection.ts'
import { Http2Connection } from './http2-connection.ts'

export interface EndpointOptions {
  readonly platform: Pick<Platform, 'clock' | 'network'>
  readonly protocols: StreamProtocols
  readonly limits: ProxyLimits
  readonly backend: Pick<Backend, 'protocol' | 'tls'>
  readonly at: BackendEndpoint
  /** When it joined other endpoints that had requests already; undefined if it did not. */
  readonly joinedMs: number | undefined
}

/** The endpoint has as many connections as it may have. */
export class EndpointOverloadError extends Error {}

export class Endpoint {
  readonly key: string
  readonly #options: EndpointOptions
  /** The connection that was used last is last. */
  readonly #idle: Http1Connection[] = []
  readonly #sessions = new Set<Http2Connection>()
  #connecting: Promise<Http2Connection> | undefined
  #connections = 0
  #refusals = 0
  #penaltyEndMs = 0
  #isRemoved = false
  /** Requests that are being processed. */
  outstanding = 0

  constructor(options: EndpointOptions) {
    this.#options = options
    this.key = endpointKey(options.at)
  }

  get at(): BackendEndpoint {
    return this.#options.at
  }

  get connections(): number {
    return this.#connections
  }

  /** Until then it is used only if all endpoints have a penalty. */
  get penaltyEndMs(): number {
    return this.#penaltyEndMs
  }

  /** The share of a full endpoint's requests, while it starts. */
  share(nowMs: number): number {
    const { joinedMs } = this.#options
    if (joinedMs === undefined) return 1
    return Math.min(1, Math.max(startingShare, (nowMs - joinedMs) / slowStartMs))
  }

  refused(nowMs: number): void {
    this.#refusals++
    this.#penaltyEndMs = nowMs + Math.min(penaltyMaxMs, penaltyMs * 2 ** (this.#refusals - 1))
  }

  succeeded(): void {
    this.#refusals = 0
    this.#penaltyEndMs = 0
  }

  /** Gets no more requests; those in flight finish, and then their connections are closed. */
  remove(): void {
    this.#isRemoved = true
    for (const connection of this.#idle.splice(0)) connection.close()
    for (const session of this.#sessions) session.close()
  }

  /** The stream at once if a connection is waiting. Rejects if the endpoint cannot be reached. */
  open(
    request: BackendRequest,
    events: BackendEvents,
    options: OpenOptions,
  ): BackendStream | Promise<BackendStream> {
    const { protocol } = this.#options.backend
    if (protocol === 'http2' || protocol === 'https2') return this.#openHttp2(request, events, options)
    const nowMs = this.#options.platform.clock.monotonicMs()
    const newestMs = options.isRepeatable ? -Infinity : nowMs - trustedIdleMs
    const idle = this.#idle.at(-1)
    if (idle === undefined || idle.idleSinceMs < newestMs) return this.#openHttp1(request, events, options)
    this.#idle.pop()
    idle.send(request, events)
    return idle
  }

  closeIdle(nowMs: number): void {
    const oldestMs = nowMs - this.#options.limits.endpointIdleTimeoutMs
    while (this.#idle[0] !== undefined && this.#idle[0].idleSinceMs < oldestMs) this.#idle.shift()!.close()
    for (const session of this.#sessions)
      if (session.streams === 0 && session.idleSinceMs < oldestMs) session.close()
  }

  async #openHttp1(
    request: BackendRequest,
    events: BackendEvents,
    options: OpenOptions,
  ): Promise<BackendStream> {
    const { clock } = this.#options.platform
    const { limits } = this.#options
    const socket = await this.#connect(options)
    const connection = new Http1Connection({
      socket,
      headerBytesMax: limits.backendHeaderBytesMax,
      onIdle: idle => {
        if (this.#isRemoved || this.#idle.length >= limits.endpointIdleMax) return idle.close()
        idle.idleSinceMs = clock.monotonicMs()
        this.#idle.push(idle)
      },
      onClose: closed => {
        this.#connections--
        const index = this.#idle.indexOf(closed)
        if (index !== -1) this.#idle.splice(index, 1)
      },
    })
    connection.send(request, events)
    return connection
  }

  async #openHttp2(
    request: BackendRequest,
    events: BackendEvents,
    options: OpenOptions,
  ): Promise<BackendStream> {
    for (let tries = 0; tries < 2; tries++) {
      let session = [...this.#sessions].find(each => each.hasRoom)
      if (session === undefined) {
        // Other requests wait for it, too, so the end of this one does not end the attempt.
        const shared = { ...options, signal: new AbortController().signal }
        this.#connecting ??= this.#connectSession(shared).finally(() => (this.#connecting = undefined))
        session = await this.#connecting
      }
      const stream = session.hasRoom ? session.send(request, events) : undefined
      if (stream !== undefined) return stream
    }
    throw new Error('the backend has closed the connection')
  }

  async #connectSession(options: OpenOptions): Promise<Http2Connection> {
    const { protocols, platform } = this.#options
    const socket = await this.#connect(options)
    const session = new Http2Connection({
      socket,
      protocols,
      onIdle: idle => {
        idle.idleSinceMs = platform.clock.monotonicMs()
        if (this.#isRemoved) idle.close()
      },
      onClose: closed => {
        this.#connections--
        this.#sessions.delete(closed)
      },
    })
    this.#sessions.add(session)
    return session
  }

  async #connect({ signal, timeoutMs }: OpenOptions): Promise<Duplex> {
    const { platform, protocols, limits, backend, at } = this.#options
    if (this.#connections >= limits.endpointConnectionsMax) throw new EndpointOverloadError(this.key)
    this.#connections++
    const aborting = new AbortController()
    const abort = (): void => aborting.abort(new Error('the attempt to connect was given up'))
    const timer = platform.clock.setTimer(timeoutMs, abort)
    signal.addEventListener('abort', abort, { once: true })
    let socket: Duplex | undefined
    try {
      socket = await platform.network.connect({ host: at.address, port: at.port }, aborting.signal)
      const { tls, protocol } = backend
      if (protocol === 'http1' || protocol === 'http2') return socket
      const tcp = socket
      aborting.signal.addEventListener('abort', () => tcp.destroy(), { once: true })
      const wanted = protocol === 'https2' ? 'h2' : 'http/1.1'
      const { connection } = await protocols.connectTls(tcp, {
        serverName: tls?.serverName,
        ca: tls?.ca,
        protocols: [wanted],
      })
      return connection
    } catch (error) {
      this.#connections--
      socket?.destroy()
      throw error
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', abort)
    }
  }
}

export interface OpenOptions {
  /** Sending the request twice has no other effect than once. */
  readonly isRepeatable: boolean
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

export function endpointKey({ address, port }: BackendEndpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

/** A new endpoint gets its full share after this time. */
const slowStartMs = 10_000
const startingShare = 0.1

/** After a refused connection; doubled by each further one. */
const penaltyMs = 1_000
const penaltyMaxMs = 10_000

/**
 * A connection that has been idle for longer may be about to be closed by its server: only requests that can
 * be repeated are sent on it.
 */
const trustedIdleMs = 1_000
