import type { Duplex } from 'node:stream'
import { LinkedAbort } from '#/base/abort.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Platform, Timer } from '#/platform/platform.ts'
import type { ThrottledLog } from '#/platform/throttled-log.ts'
import { formatServerAddress, type ServerAddress } from '../server-address.ts'
import {
  connectTimeoutMs,
  planProbe,
  probeIntervalMs,
  probeResultOf,
  type BackendRole,
  type BackendState,
  type ProbeResult,
} from './choose-backend.ts'
import { forward } from './forward.ts'

export interface BackendOptions {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'network' | 'log'>
  readonly throttledLog: ThrottledLog
  readonly server: ServerAddress
  readonly role: BackendRole
}

/** Pauses of an API server to which connecting has failed. */
const pauses: Backoff = { initialMs: 1_000, maxMs: 30_000, factor: 2, jitter: 0.2 }

/**
 * One API server with the connections through it. While there are any, it is probed: a host that was cut off does not
 * reset its connections. Nothing runs when there are none.
 */
export class Backend implements Disposable {
  readonly address: string
  role: BackendRole
  readonly #options: BackendOptions
  readonly #tieBreak: number
  readonly #connections = new Set<Duplex>()
  #connecting = 0
  #isHealthy = true
  /** Consecutive failures; zero after data of a new connection, since a process that hangs can be connected to. */
  #failures = 0
  #retryMs = 0
  #error: string | undefined
  /** When the API server last sent data or accepted a connection. */
  #aliveMs = 0
  #failedProbes = 0
  #probeTimer: Timer | undefined
  #isProbing = false
  readonly #disposed = new AbortController()

  constructor(options: BackendOptions) {
    this.#options = options
    this.address = formatServerAddress(options.server)
    this.role = options.role
    this.#tieBreak = options.platform.random.fraction('API server')
  }

  get state(): BackendState {
    return {
      address: this.address,
      role: this.role,
      isHealthy: this.#isHealthy,
      retryMs: this.#retryMs,
      connectionCount: this.#connections.size + this.#connecting,
      tieBreak: this.#tieBreak,
    }
  }

  /** Message of the last failure; undefined when healthy. */
  get error(): string | undefined {
    return this.#error
  }

  get isDisposed(): boolean {
    return this.#disposed.signal.aborted
  }

  /** Undefined if connecting fails. */
  async connect(signal: AbortSignal): Promise<Duplex | undefined> {
    this.#connecting++
    try {
      const connection = await this.#dial(signal)
      this.#succeeded()
      return connection
    } catch (error) {
      if (!signal.aborted) {
        this.#failed(error)
        // Open connections to a host that does not answer are probably dead.
        if (this.#connections.size > 0 && probeResultOf(error) === 'unreachable') void this.#probe()
      }
      return undefined
    } finally {
      this.#connecting--
    }
  }

  /** Takes over both connections. */
  forward(client: Duplex, server: Duplex): void {
    const { clock } = this.#options.platform
    this.#connections.add(server)
    this.#scheduleProbe(probeIntervalMs)
    forward({
      client,
      server,
      clock,
      onData: isFirst => {
        this.#aliveMs = clock.monotonicMs()
        if (isFirst && this.#isHealthy) this.#failures = 0
      },
      onUnresponsive: () => this.#failed(new Error('connected, but the API server does not answer')),
      onClose: () => {
        this.#connections.delete(server)
        if (this.#connections.size > 0) return
        this.#probeTimer?.cancel()
        this.#probeTimer = undefined
      },
    })
  }

  /** Tests in the background whether an API server is healthy again, if its pause has passed. */
  retry(): void {
    const { clock } = this.#options.platform
    if (!this.#isHealthy && clock.monotonicMs() >= this.#retryMs) void this.#probe()
  }

  /** Connects once and closes the connection. Never rejects. */
  async #probe(): Promise<void> {
    if (this.#isProbing || this.isDisposed) return
    this.#isProbing = true
    this.#probeTimer?.cancel()
    this.#probeTimer = undefined
    const result = await this.#probeOnce()
    this.#isProbing = false
    if (this.isDisposed) return
    if (result !== 'unknown') this.#failedProbes = result === 'connected' ? 0 : this.#failedProbes + 1
    const { isDead, delayMs } = planProbe(result, this.#failedProbes)
    if (isDead && this.#connections.size > 0) {
      const connections = this.#connections.size
      const { address: server } = this
      this.#options.platform.log.warn('API server is dead, closing its connections', { server, connections })
      this.closeConnections(this.connections)
    }
    this.#scheduleProbe(delayMs)
  }

  /** To the API server. */
  get connections(): readonly Duplex[] {
    return [...this.#connections]
  }

  /** Clients connect again, and get another API server. */
  closeConnections(connections: readonly Duplex[]): void {
    for (const connection of connections) {
      connection.destroy()
      this.#connections.delete(connection)
    }
  }

  [Symbol.dispose](): void {
    this.#disposed.abort()
    this.#probeTimer?.cancel()
    this.closeConnections(this.connections)
  }

  async #probeOnce(): Promise<ProbeResult> {
    try {
      const connection = await this.#dial(this.#disposed.signal)
      connection.destroy()
      this.#succeeded()
      return 'connected'
    } catch (error) {
      if (!this.isDisposed) this.#failed(error)
      return probeResultOf(error)
    }
  }

  #scheduleProbe(delayMs: number): void {
    if (this.#probeTimer !== undefined || this.#isProbing || this.#connections.size === 0) return
    const { clock } = this.#options.platform
    this.#probeTimer = clock.setTimer(delayMs, () => {
      this.#probeTimer = undefined
      const restMs = this.#aliveMs + probeIntervalMs - clock.monotonicMs()
      if (restMs > 0) this.#scheduleProbe(restMs)
      else void this.#probe()
    })
  }

  async #dial(signal: AbortSignal): Promise<Duplex> {
    const { clock, network } = this.#options.platform
    using attempt = new LinkedAbort(signal)
    const timer = clock.setTimer(connectTimeoutMs, () => {
      attempt.abort(new Error(`no answer within ${connectTimeoutMs / 1_000}s`))
    })
    try {
      return await network.connect(this.#options.server, attempt.signal)
    } finally {
      timer.cancel()
    }
  }

  #succeeded(): void {
    const { clock, log } = this.#options.platform
    this.#aliveMs = clock.monotonicMs()
    if (!this.#isHealthy) log.info('Connected to API server again', { server: this.address })
    this.#isHealthy = true
    this.#error = undefined
  }

  #failed(error: unknown): void {
    const { clock, random } = this.#options.platform
    const nowMs = clock.monotonicMs()
    const { address: server } = this
    if (probeResultOf(error) === 'unknown')
      return this.#options.throttledLog.warn('local', 'Cannot connect to any API server', { server, error })
    this.#error = messageOf(error)
    // Attempts that fail at the same time are one failure.
    if (!this.#isHealthy && nowMs < this.#retryMs) return
    this.#isHealthy = false
    this.#failures++
    this.#retryMs = nowMs + backoffMs(this.#failures, pauses, random.fraction('pause of an API server'))
    this.#options.throttledLog.warn(server, 'Failed to connect to API server', { server, error })
  }
}
