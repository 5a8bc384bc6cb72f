/**
 * A reverse proxy for HTTP/1.1 and HTTP/2. It listens, routes requests and balances them over endpoints as a
 * `ProxyConfiguration` says, and applies a new one without closing connections. It knows no Kubernetes
 * objects.
 */
import { ConnectionPool } from '#/base/connection-pool.ts'
import type { Platform, Timer } from '#/platform/platform.ts'
import type { StreamProtocols } from '#/platform/stream-protocols.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { AccessLog } from './access-log.ts'
import { BackendPool } from './backends/backend-pool.ts'
import type { ProxyCore } from './exchange-context.ts'
import { ListenerSocket, type AcceptedConnection } from './listener.ts'
import type { Backend, ProxyConfiguration } from './proxy-configuration.ts'
import { defaultProxyLimits, type ProxyLimits } from './proxy-limits.ts'
import { ProxyMetrics } from './proxy-metrics.ts'
import type { Tunnel } from './tunnel.ts'

export interface HttpProxyOptions {
  readonly platform: Platform
  readonly protocols: StreamProtocols
  readonly limits?: Partial<ProxyLimits>
  readonly metrics?: ProxyMetrics
  /** Writes lines of the access log; none when absent. */
  readonly writeAccessLog?: (text: string) => void
}

export interface ListenerState {
  readonly id: string
  /** Undefined while it does not listen. */
  readonly port: number | undefined
  /** Why it does not listen. */
  readonly failure: string | undefined
}

export class HttpProxy implements AsyncDisposable {
  readonly metrics: ProxyMetrics
  readonly #options: HttpProxyOptions
  readonly #core: ProxyCore
  readonly #log: ThrottledLog
  readonly #accessLog: AccessLog | undefined
  readonly #connections: ConnectionPool<AcceptedConnection>
  readonly #backends = new Map<string, BackendPool>()
  readonly #tunnels = new Set<Tunnel>()
  /** By address and protocol. */
  #listeners: ReadonlyMap<string, OpenListener> = new Map()
  #sweeping: Timer | undefined
  #isDraining = false

  constructor(options: HttpProxyOptions) {
    const { platform, limits, writeAccessLog: write } = options
    const { clock } = platform
    this.#options = options
    this.metrics = options.metrics ?? new ProxyMetrics()
    this.#log = new ThrottledLog(platform)
    this.#accessLog = write && new AccessLog({ clock, write })
    const merged = { ...defaultProxyLimits, ...limits }
    this.#connections = new ConnectionPool(merged.connectionsMax)
    const accessLog = this.#accessLog
    this.#core = {
      clock,
      limits: merged,
      metrics: this.metrics,
      backends: this.#backends,
      tunnels: this.#tunnels,
      draw: () => platform.random.fraction('route'),
      nextRequestId: requestIds(platform),
      httpDate: httpDates(clock),
      backendFailed: (backend, reason, error) => this.#backendFailed(backend, reason, error),
      rejected: reason => this.metrics.rejected.with(reason).add(),
      logAccess: accessLog && (entry => accessLog.log(entry)),
    }
  }

  get listeners(): readonly ListenerState[] {
    return [...this.#listeners.values()].map(({ id, socket }) => {
      return { id, port: socket.port, failure: socket.failure }
    })
  }

  /** Number of client connections. */
  get connectionCount(): number {
    return this.#connections.size
  }

  /** Resolves when all new listeners listen, or have failed for the first time. */
  async apply(configuration: ProxyConfiguration): Promise<void> {
    if (this.#isDraining) return
    this.#applyBackends(configuration.backends)
    const opened = new Map<string, OpenListener>()
    const starting: ListenerSocket[] = []
    for (const listener of configuration.listeners) {
      const key = `${listener.protocol} ${listener.host} ${listener.port}`
      if (opened.has(key)) continue
      const known = this.#listeners.get(key)
      const socket = known?.socket ?? new ListenerSocket(this.#listenerOptions(), listener)
      socket.apply(listener)
      opened.set(key, { id: listener.id, socket })
      if (known === undefined) starting.push(socket)
    }
    const closing = [...this.#listeners].filter(([key]) => !opened.has(key))
    this.#listeners = opened
    await Promise.all(closing.map(([, { socket }]) => socket.close()))
    await Promise.all(starting.map(socket => socket.open()))
    const routes = configuration.listeners.flatMap(({ virtualHosts }) =>
      virtualHosts.flatMap(host => host.routes),
    )
    this.metrics.retainRoutes(new Set(routes.map(({ id }) => id)))
    this.metrics.reloads.with().add()
    this.metrics.lastReload.with().value = this.#core.clock.now() / 1_000
  }

  /** Stops listening, and closes connections after their requests; those that last longer are destroyed. */
  async drain(graceMs: number): Promise<void> {
    const { clock } = this.#core
    this.#isDraining = true
    await Promise.all([...this.#listeners.values()].map(({ socket }) => socket.close()))
    const endMs = clock.monotonicMs() + graceMs
    while (this.#connections.size > 0 && clock.monotonicMs() < endMs) await clock.sleep(drainCheckMs)
    await this[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDraining = true
    this.#sweeping?.cancel()
    this.#sweeping = undefined
    for (const tunnel of this.#tunnels) tunnel.destroy()
    for (const connection of this.#connections) connection.destroy()
    await Promise.all([...this.#listeners.values()].map(({ socket }) => socket.close()))
    for (const pool of this.#backends.values()) pool.remove()
    this.#accessLog?.flush()
  }

  #applyBackends(backends: ReadonlyMap<string, Backend>): void {
    const { platform, protocols } = this.#options
    const { limits } = this.#core
    for (const [id, pool] of this.#backends) {
      if (backends.has(id)) continue
      pool.remove()
      this.#backends.delete(id)
      for (const reason of failureReasons) this.metrics.backendErrors.remove(id, reason)
      this.metrics.retries.remove(id)
    }
    for (const [id, backend] of backends) {
      const known = this.#backends.get(id)
      if (known) known.apply(backend)
      else this.#backends.set(id, new BackendPool(backend, { platform, protocols, limits }))
    }
  }

  #listenerOptions() {
    const { platform, protocols } = this.#options
    return {
      platform,
      protocols,
      core: this.#core,
      connections: this.#connections,
      onActivity: () => {
        this.metrics.connections.with('active').value = this.#connections.size
        this.#sweeping ??= platform.clock.setTimer(sweepMs, () => this.#sweep())
      },
      onProblem: (message: string, fields: Readonly<Record<string, unknown>>) => {
        this.metrics.reloadFailures.with().add()
        this.#log.error(
          `${message} ${JSON.stringify(fields['problem'] ?? fields['host'] ?? '')}`,
          message,
          fields,
        )
      },
    }
  }

  /** Runs only while there are connections. */
  #sweep(): void {
    const nowMs = this.#core.clock.monotonicMs()
    const { headerTimeoutMs, tunnelTimeoutMs } = this.#core.limits
    for (const connection of this.#connections) connection.sweep(nowMs, headerTimeoutMs)
    for (const tunnel of this.#tunnels) tunnel.sweep(nowMs, tunnelTimeoutMs)
    let backendConnections = 0
    for (const pool of this.#backends.values()) {
      for (const endpoint of pool.endpoints) {
        endpoint.closeIdle(nowMs)
        backendConnections += endpoint.connections
      }
    }
    this.metrics.connections.with('active').value = this.#connections.size
    const isUsed = this.#connections.size + this.#tunnels.size + backendConnections > 0
    this.#sweeping = isUsed ? this.#core.clock.setTimer(sweepMs, () => this.#sweep()) : undefined
  }

  #backendFailed(backend: string, reason: string, error: unknown): void {
    this.metrics.backendErrors.with(backend, reason).add()
    const fields = { backend, reason, ...(error !== undefined && { error }) }
    this.#log.warn(`${backend} ${reason}`, 'Request to backend failed', fields)
  }
}

interface OpenListener {
  readonly id: string
  readonly socket: ListenerSocket
}

/** Resolution of timeouts. */
const sweepMs = 1_000

const drainCheckMs = 50

const failureReasons = ['unreachable', 'overload', 'timeout', 'interrupted', 'invalid-response']

/** Unique, also between processes. */
function requestIds({ random }: Platform): () => string {
  const prefix = Buffer.from(random.bytes('request id', 10)).toString('hex')
  let last = 0
  return () => {
    last = (last + 1) % 0xffffffffffff
    return prefix + last.toString(16).padStart(12, '0')
  }
}

function httpDates(clock: Platform['clock']): () => string {
  let second = 0
  let text = ''
  return () => {
    const now = Math.floor(clock.now() / 1_000)
    if (now === second) return text
    second = now
    text = new Date(now * 1_000).toUTCString()
    return text
  }
}
