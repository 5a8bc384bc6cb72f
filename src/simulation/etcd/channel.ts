/**
 * The gRPC channel of a simulated host, with the fail-over, deadlines and errors of the one in `platform/node`: each
 * call goes to the target in use; one that cannot be reached, or whose call fails with `unavailable` or
 * `deadline-exceeded`, is replaced by the next.
 */
import {
  GrpcError,
  type GrpcCallOptions,
  type GrpcChannel,
  type GrpcChannelOptions,
  type GrpcStream,
} from '#/platform/grpc.ts'
import { abortable } from '#/base/abort.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Call } from './call.ts'
import { Connection, type ConnectionServer } from './connection.ts'
import type { Link } from './link.ts'

export interface ChannelOptions extends GrpcChannelOptions {
  /** Clock of the life of the host. */
  readonly clock: Clock
  /** Aborted when the host crashes. */
  readonly life: AbortSignal
  /** A member and the path to it, by target. */
  readonly route: (target: string) => Route
}

export interface Route {
  readonly server: ConnectionServer
  readonly link: Link
}

const connectTimeoutMs = 2_000

export class SimulatedChannel implements GrpcChannel {
  readonly #options: ChannelOptions
  readonly #targets: readonly Target[]
  /** Index of the target in use. */
  #current = 0
  readonly #calls = new Set<Call>()
  #isClosed = false

  constructor(options: ChannelOptions) {
    this.#options = options
    this.#targets = options.targets.map(target => new Target(options, options.route(target)))
    options.life.addEventListener('abort', () => this.#abandon(), { once: true })
  }

  async unary(method: string, request: Uint8Array, options: GrpcCallOptions = {}): Promise<Uint8Array> {
    const { call, index } = await this.#start(method, options)
    call.send(request)
    try {
      const response = await call.next()
      if (response !== undefined) return response
      throw new GrpcError('internal', 'no response', { sent: true })
    } catch (error) {
      throw this.failed(error, index, options)
    } finally {
      call.end(cancelled())
    }
  }

  stream(method: string, options: GrpcCallOptions = {}): GrpcStream {
    return new SimulatedStream(this, this.#start(method, options), options)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    for (const call of this.#calls) call.end(cancelled())
    for (const target of this.#targets) target.close()
  }

  failed(error: unknown, index: number, options: GrpcCallOptions): unknown {
    if (options.signal?.aborted) return options.signal.reason
    const isTargetBad =
      error instanceof GrpcError && (error.code === 'unavailable' || error.code === 'deadline-exceeded')
    if (isTargetBad) this.avoid(index)
    return error
  }

  avoid(index: number): void {
    if (index === this.#current) this.#current = (index + 1) % this.#targets.length
  }

  async #start(method: string, options: GrpcCallOptions): Promise<StartedCall> {
    const { clock } = this.#options
    const deadlineMs = clock.monotonicMs() + (options.timeoutMs ?? Infinity)
    const isReady = !this.#isClosed && this.#targets[this.#current]!.connection?.state === 'ready'
    const index = isReady ? this.#current : await this.#connect(deadlineMs, options.signal)
    options.signal?.throwIfAborted()
    const call = this.#targets[index]!.connection!.call(method, options.metadata?.['hasleader'] === 'true')
    this.#track(call, deadlineMs, options.signal)
    return { call, index }
  }

  /** Tries each target once, in turn, and keeps the first that connects. */
  async #connect(deadlineMs: number, signal: AbortSignal | undefined): Promise<number> {
    const { clock, connectTimeoutMs: timeoutMs = connectTimeoutMs } = this.#options
    const first = this.#current
    for (let step = 0; step < this.#targets.length; step++) {
      const index = (first + step) % this.#targets.length
      const nowMs = clock.monotonicMs()
      if (this.#isClosed || nowMs >= deadlineMs) break
      const isReady = this.#targets[index]!.becomesReady(Math.min(deadlineMs, nowMs + timeoutMs))
      if (!(await (signal ? abortable(isReady, signal) : isReady))) continue
      if (this.#current === first) this.#current = index
      return index
    }
    const isLate = clock.monotonicMs() >= deadlineMs
    const code = this.#isClosed ? 'cancelled' : isLate ? 'deadline-exceeded' : 'unavailable'
    const details = this.#isClosed ? 'the channel was closed' : 'no target can be reached'
    throw new GrpcError(code, details, { sent: false })
  }

  /** Until the call ends, it can end by its deadline, its signal, or by closing the channel. */
  #track(call: Call, deadlineMs: number, signal: AbortSignal | undefined): void {
    const { clock } = this.#options
    const deadline = (): void =>
      call.end(new GrpcError('deadline-exceeded', 'Deadline exceeded', { sent: true }))
    const timer =
      deadlineMs < Infinity ? clock.setTimer(deadlineMs - clock.monotonicMs(), deadline) : undefined
    const abort = (): void => call.end(cancelled())
    signal?.addEventListener('abort', abort)
    this.#calls.add(call)
    call.onEnd(() => {
      this.#calls.delete(call)
      timer?.cancel()
      signal?.removeEventListener('abort', abort)
    })
  }

  #abandon(): void {
    this.#isClosed = true
    for (const target of this.#targets) target.connection?.abandon()
  }
}

export interface StartedCall {
  readonly call: Call
  readonly index: number
}

class SimulatedStream implements GrpcStream {
  readonly #channel: SimulatedChannel
  readonly #started: Promise<StartedCall>
  readonly #options: GrpcCallOptions

  constructor(channel: SimulatedChannel, started: Promise<StartedCall>, options: GrpcCallOptions) {
    this.#channel = channel
    this.#started = started
    this.#options = options
    started.catch(() => undefined)
  }

  async send(message: Uint8Array): Promise<void> {
    const started = await this.#started.catch(() => undefined)
    started?.call.send(message)
  }

  end(): void {
    // Half-closing has no effect on a watch: etcd continues to send.
  }

  cancel(): void {
    this.#started.then(
      ({ call }) => call.end(cancelled()),
      () => undefined,
    )
  }

  abandonTarget(): void {
    this.#started.then(
      ({ index }) => this.#channel.avoid(index),
      () => undefined,
    )
    this.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    const { call, index } = await this.#started
    try {
      for (;;) {
        const message = await call.next()
        if (message === undefined) return
        yield message
      }
    } catch (error) {
      throw this.#channel.failed(error, index, this.#options)
    } finally {
      call.end(cancelled())
    }
  }
}

/** One target of a channel, which reconnects with growing pauses. */
class Target {
  readonly #options: ChannelOptions
  readonly #route: Route
  connection: Connection | undefined
  #failures = 0
  /** After a failed attempt no other one is made until this time. */
  #failedUntilMs = 0
  readonly #waiting = new Set<() => void>()

  constructor(options: ChannelOptions, route: Route) {
    this.#options = options
    this.#route = route
  }

  async becomesReady(untilMs: number): Promise<boolean> {
    const { clock } = this.#options
    if (clock.monotonicMs() < this.#failedUntilMs) return false
    const { connection } = this
    if (connection === undefined || connection.state === 'closed') this.connection = this.#connect()
    if (this.connection?.state === 'connecting') await this.#change(untilMs)
    return this.connection?.state === 'ready'
  }

  close(): void {
    this.connection?.close(cancelled())
    this.#wake()
  }

  #connect(): Connection {
    const { clock, keepalive } = this.#options
    const onChange = (connection: Connection): void => {
      if (connection.state === 'ready') this.#failures = 0
      else if (!wasReady) this.#failedUntilMs = clock.monotonicMs() + reconnectDelayMs(this.#failures++)
      wasReady = connection.state === 'ready'
      this.#wake()
    }
    let wasReady = false
    return new Connection({ ...this.#route, clock, keepalive, onChange })
  }

  async #change(untilMs: number): Promise<void> {
    const { clock } = this.#options
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    const timer = clock.setTimer(untilMs - clock.monotonicMs(), resolve)
    await promise
    timer.cancel()
    this.#waiting.delete(resolve)
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }
}

function reconnectDelayMs(failures: number): number {
  return Math.min(100 * 1.6 ** failures, 2_000)
}

function cancelled(): GrpcError {
  return new GrpcError('cancelled', 'Cancelled on client', { sent: true })
}
