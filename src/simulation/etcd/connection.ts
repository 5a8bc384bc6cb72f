/**
 * An HTTP/2 connection from one life of a host to a member. It ends when either end closes it, when the member
 * crashes, or when keepalive pings are not answered.
 */
import { GrpcError, type GrpcChannelOptions } from '#/platform/grpc.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import { Call, type CallCarrier } from './call.ts'
import type { Link } from './link.ts'

/** What a connection needs of a member. */
export interface ConnectionServer {
  readonly name: string
  readonly isUp: boolean
  /** Calls back when the member's process runs; never after its crash. */
  enter(callback: () => void): void
  connected(connection: Connection): void
  disconnected(connection: Connection): void
  serve(call: Call, connection: Connection): void
}

export interface ConnectionOptions {
  /** Clock of the life of the host. */
  readonly clock: Clock
  readonly link: Link
  readonly server: ConnectionServer
  readonly keepalive: GrpcChannelOptions['keepalive']
  /** Called once, when the handshake has succeeded or failed, or an open connection has ended. */
  readonly onChange: (connection: Connection) => void
}

type ConnectionState = 'connecting' | 'ready' | 'closed'

export class Connection {
  readonly #options: ConnectionOptions
  readonly #calls = new Set<Call>()
  #state: ConnectionState = 'connecting'
  /** The member's end is open. */
  #isAccepted = false
  #pinging: Timer | undefined

  constructor(options: ConnectionOptions) {
    this.#options = options
    const { link, server } = options
    const refuse = (): void => this.#toHost(() => this.#end())
    if (link.isRefused) refuse()
    else link.toMember(() => (server.isUp ? server.enter(() => this.#accept()) : refuse()))
  }

  get state(): ConnectionState {
    return this.#state
  }

  get link(): Link {
    return this.#options.link
  }

  call(method: string, requiresLeader: boolean): Call {
    const { server } = this.#options
    const carrier: CallCarrier = {
      toMember: arrive => {
        if (this.#state === 'closed') return
        this.#toMember(arrive)
      },
      toHost: arrive => this.#toHost(arrive),
    }
    const call = new Call({ method, requiresLeader, carrier })
    this.#calls.add(call)
    call.onEnd(() => this.#calls.delete(call))
    this.#toMember(() => server.serve(call, this))
    this.#pinging ??= this.#schedulePing()
    return call
  }

  /** Closed by the host. The member learns of it later. */
  close(error: GrpcError): void {
    if (this.#state === 'closed') return
    const calls = [...this.#calls]
    this.#toMember(() => this.#leave(calls))
    this.#end(error)
  }

  /** The host has crashed. */
  abandon(): void {
    const calls = [...this.#calls]
    this.#state = 'closed'
    this.#pinging?.cancel()
    this.#options.link.toMember(() => this.#leave(calls))
  }

  /** Closed by the member, or by a reset between. */
  reset(): void {
    this.#leave([...this.#calls])
    this.#toHost(() => this.#end())
  }

  #toMember(arrive: () => void): void {
    const { link, server } = this.#options
    link.toMember(() => {
      if (this.#isAccepted) server.enter(arrive)
    })
  }

  #toHost(arrive: () => void): void {
    const { link, clock } = this.#options
    link.toHost(clock, () => {
      if (this.#state !== 'closed') arrive()
    })
  }

  #accept(): void {
    this.#isAccepted = true
    this.#options.server.connected(this)
    this.#toHost(() => this.#open())
  }

  #open(): void {
    this.#state = 'ready'
    this.#options.onChange(this)
  }

  #end(error = connectionDropped()): void {
    this.#state = 'closed'
    this.#pinging?.cancel()
    for (const call of this.#calls) call.lose(error)
    this.#options.onChange(this)
  }

  #leave(calls: readonly Call[]): void {
    if (!this.#isAccepted) return
    this.#isAccepted = false
    this.#options.server.disconnected(this)
    for (const call of calls) call.closeAtMember()
  }

  /** Pings while calls are open. */
  #schedulePing(): Timer | undefined {
    const { keepalive, clock } = this.#options
    if (keepalive === undefined) return undefined
    return clock.setTimer(keepalive.intervalMs, () => {
      this.#pinging = undefined
      if (this.#calls.size > 0) this.#ping(keepalive.timeoutMs)
    })
  }

  #ping(timeoutMs: number): void {
    this.#pinging = this.#options.clock.setTimer(timeoutMs, () => this.close(connectionDropped()))
    this.#toMember(() =>
      this.#toHost(() => {
        this.#pinging?.cancel()
        this.#pinging = this.#schedulePing()
      }),
    )
  }
}

function connectionDropped(): GrpcError {
  return new GrpcError('unavailable', 'Connection dropped', { sent: true })
}
