/**
 * One listening socket with its connections. A new configuration replaces routes and certificates while it
 * serves.
 */
import type { Duplex } from 'node:stream'
import type { ConnectionPool } from '#/base/connection-pool.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { Listener, Platform } from '#/platform/platform.ts'
import type { StreamProtocols, TlsAcceptor } from '#/platform/stream-protocols.ts'
import type { ClientConnection } from './clients/client-connection.ts'
import { Http1Client } from './clients/http1-client.ts'
import { Http2Client } from './clients/http2-client.ts'
import { PassthroughClient } from './clients/passthrough-client.ts'
import { ExchangeContext, type ProxyCore } from './exchange-context.ts'
import type { ProxyListener } from './proxy-configuration.ts'
import { compileRoutes, type RoutingTable } from './routing/compile-routes.ts'

export interface ProxyListenerOptions {
  readonly platform: Platform
  readonly protocols: StreamProtocols
  readonly core: ProxyCore
  /** Of all listeners. */
  readonly connections: ConnectionPool<AcceptedConnection>
  /** A connection has been accepted. */
  readonly onActivity: () => void
  readonly onProblem: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

/** From accept to close, whatever is spoken on it. */
export class AcceptedConnection {
  readonly tcp: Duplex
  /** The address of the client. */
  readonly from: string
  readonly acceptedMs: number
  client: ClientConnection | undefined

  constructor(tcp: Duplex, from: string, acceptedMs: number) {
    this.tcp = tcp
    this.from = from
    this.acceptedMs = acceptedMs
  }

  /** Checks timeouts; `silentMs` is that of a connection on which nothing has arrived. */
  sweep(nowMs: number, silentMs: number): void {
    if (this.client) this.client.sweep(nowMs)
    else if (nowMs - this.acceptedMs > silentMs) this.tcp.destroy()
  }

  drain(): void {
    if (this.client) this.client.drain()
    else this.tcp.destroy()
  }

  destroy(): void {
    this.client?.destroy()
    this.tcp.destroy()
  }
}

export class ListenerSocket {
  readonly #options: ProxyListenerOptions
  readonly #host: string
  readonly #wantedPort: number
  readonly #protocol: ProxyListener['protocol']
  readonly #tls: TlsAcceptor | undefined
  readonly #accepted = new Map<Duplex, AcceptedConnection>()
  readonly #stopping = new AbortController()
  #table: RoutingTable = { routesOf: () => undefined }
  #hostnames: ReadonlySet<string> = new Set()
  #externalPort: number | undefined
  #socket: Listener | undefined
  #failure: string | undefined

  constructor(options: ProxyListenerOptions, { host, port, protocol }: ProxyListener) {
    const { protocols, core } = options
    this.#options = options
    this.#host = host
    this.#wantedPort = port
    this.#protocol = protocol
    if (protocol !== 'tls') return
    this.#tls = protocols.acceptTls({
      handshakeTimeoutMs: core.limits.headerTimeoutMs,
      onConnection: ({ connection, protocol: spoken }, tcp) => this.#serveTls(connection, spoken, tcp),
      onFailure: () => core.rejected('tls'),
    })
  }

  /** Undefined while it does not listen. */
  get port(): number | undefined {
    const address = this.#socket?.address
    return address && 'port' in address ? address.port : undefined
  }

  /** Why it does not listen. */
  get failure(): string | undefined {
    return this.#failure
  }

  apply({ virtualHosts, certificates, externalPort }: ProxyListener): void {
    const { onProblem, core } = this.#options
    this.#externalPort = externalPort
    const { table, problems } = compileRoutes(virtualHosts)
    this.#table = table
    for (const problem of problems) onProblem('Route is not valid', { problem })
    const hostnames = new Set<string>()
    for (const { certificate, expiresMs, error } of this.#tls?.setCertificates(certificates) ?? []) {
      const hosts = certificate.hostnames.length === 0 ? ['_'] : certificate.hostnames
      if (error !== undefined) onProblem('Certificate cannot be used', { hosts, error })
      if (expiresMs === undefined) continue
      for (const host of hosts) core.metrics.certificateExpiry.with(host).value = expiresMs / 1_000
      for (const host of hosts) hostnames.add(host)
    }
    for (const host of this.#hostnames) if (!hostnames.has(host)) core.metrics.certificateExpiry.remove(host)
    this.#hostnames = hostnames
  }

  /**
   * Listens, and tries again with growing pauses while the port is taken. Resolves after the first attempt.
   */
  async open(): Promise<void> {
    if (await this.#listen()) return
    void this.#retry()
  }

  /** Accepts no more connections; open ones end with their requests. */
  async close(): Promise<void> {
    this.#stopping.abort()
    for (const host of this.#hostnames) this.#options.core.metrics.certificateExpiry.remove(host)
    await this.#socket?.[Symbol.asyncDispose]()
    this.#socket = undefined
    for (const connection of this.#accepted.values()) connection.drain()
  }

  async #retry(): Promise<void> {
    const { clock, random } = this.#options.platform
    const { signal } = this.#stopping
    for (let failures = 1; !signal.aborted; failures++) {
      const delayMs = backoffMs(failures, listenRetry, random.fraction('listen'))
      await clock.sleep(delayMs, signal).catch(() => undefined)
      if (signal.aborted || (await this.#listen())) return
    }
  }

  async #listen(): Promise<boolean> {
    const { platform, onProblem } = this.#options
    const address = { host: this.#host, port: this.#wantedPort }
    try {
      const socket = await platform.network.listen(address, (tcp, from) => this.#accept(tcp, from))
      if (this.#stopping.signal.aborted) await socket[Symbol.asyncDispose]()
      else this.#socket = socket
      this.#failure = undefined
      return true
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error)
      onProblem('Failed to listen, will retry', { ...address, error })
      return false
    }
  }

  #accept(tcp: Duplex, from: string): void {
    const { core, connections, onActivity } = this.#options
    const nowMs = core.clock.monotonicMs()
    const accepted = new AcceptedConnection(tcp, from, nowMs)
    const displaced = connections.add(accepted, { address: from, nowMs })
    if (displaced !== undefined) {
      core.rejected('connections')
      displaced.destroy()
      if (displaced === accepted) return
    }
    tcp.on('error', () => undefined)
    this.#accepted.set(tcp, accepted)
    tcp.once('close', () => {
      this.#accepted.delete(tcp)
      connections.delete(accepted)
    })
    core.metrics.accepted.with('accepted').add()
    onActivity()
    if (this.#tls) this.#tls.accept(tcp)
    else if (this.#protocol === 'passthrough')
      accepted.client = new PassthroughClient({
        socket: tcp,
        context: this.#contextOf(accepted, 'https'),
        network: this.#options.platform.network,
        onClose: () => undefined,
      })
    else tcp.once('data', (first: Buffer) => this.#servePlain(accepted, first))
  }

  /** HTTP/2 without TLS begins with its preface (RFC 9113, section 3.3). */
  #servePlain(accepted: AcceptedConnection, first: Buffer): void {
    const { tcp } = accepted
    const context = this.#contextOf(accepted, 'http')
    const onClose = (): void => undefined
    if (first.length < preface.length || first.compare(preface, 0, preface.length, 0, preface.length) !== 0) {
      accepted.client = new Http1Client({ socket: tcp, context, head: first, onClose })
      return
    }
    tcp.pause()
    tcp.unshift(first)
    accepted.client = new Http2Client({ socket: tcp, context, protocols: this.#options.protocols, onClose })
  }

  #serveTls(connection: Duplex, spoken: 'http/1.1' | 'h2', tcp: Duplex): void {
    const accepted = this.#accepted.get(tcp)
    if (accepted === undefined) return void connection.destroy()
    const context = this.#contextOf(accepted, 'https')
    const options = { socket: connection, context, onClose: () => void tcp.destroy() }
    accepted.client =
      spoken === 'h2'
        ? new Http2Client({ ...options, protocols: this.#options.protocols })
        : new Http1Client(options)
  }

  #contextOf({ from: address }: AcceptedConnection, scheme: 'http' | 'https'): ExchangeContext {
    const port = this.#externalPort ?? this.port ?? this.#wantedPort
    return new ExchangeContext({ core: this.#options.core, address, scheme, port, table: () => this.#table })
  }
}

const preface = Buffer.from('PRI * HTTP/2.0')

const listenRetry: Backoff = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.1 }
