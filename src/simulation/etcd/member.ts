/** A member of a simulated etcd cluster: its health, the requests that it serves, and what it has applied. */
import {
  AlarmResponse,
  CompactionRequest,
  CompactionResponse,
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
} from '#/store/etcd-messages.ts'
import { GrpcError } from '#/platform/grpc.ts'
import type { Clock, Random } from '#/platform/platform.ts'
import type { Call } from './call.ts'
import type { Connection, ConnectionServer } from './connection.ts'
import type { Consensus, Voter } from './consensus.ts'
import { etcdError } from './etcd-errors.ts'
import { drawFault, type EtcdFaults } from './etcd-faults.ts'
import type { View } from './key-history.ts'
import { WatchStream } from './watch-stream.ts'

export interface MemberOptions {
  readonly name: string
  readonly consensus: Consensus
  readonly clock: Clock
  readonly random: Random
  readonly faults: () => EtcdFaults
  readonly fragmentBytes: number
  /** Called when a lease was granted, which will expire. */
  readonly onLease: () => void
}

export class Member implements Voter, ConnectionServer {
  readonly name: string
  readonly #options: MemberOptions
  readonly #connections = new Set<Connection>()
  readonly #watches = new Map<WatchStream, Call>()
  #life = 0
  #isUp = true
  #isIsolated = false
  /** What has arrived while the process is stopped; undefined while it runs. */
  #held: (() => void)[] | undefined
  #lagMs = 0
  #applied: View
  #appliedWakes: (() => void)[] = []

  constructor(options: MemberOptions) {
    this.name = options.name
    this.#options = options
    this.#applied = options.consensus.state.view
  }

  get isUp(): boolean {
    return this.#isUp
  }

  get isConnected(): boolean {
    return this.#isUp && !this.#isIsolated && this.#held === undefined
  }

  get life(): number {
    return this.#life
  }

  crash(): void {
    this.#isUp = false
    this.#held = undefined
    this.#life++
    for (const connection of this.#connections) connection.reset()
    this.#options.consensus.update()
  }

  restart(): void {
    this.#isUp = true
    this.#options.consensus.update()
  }

  /** The other members do not reach this one; clients do. */
  setIsolated(isIsolated: boolean): void {
    this.#isIsolated = isIsolated
    this.#options.consensus.update()
  }

  /** Stops the process, as SIGSTOP does. Its connections stay open. */
  stop(): void {
    if (this.#isUp) this.#held ??= []
    this.#options.consensus.update()
  }

  goOn(): void {
    const held = this.#held ?? []
    this.#held = undefined
    this.#options.consensus.update()
    for (const callback of held) this.enter(callback)
  }

  /** Applies changes this much later than the others. */
  setLag(lagMs: number): void {
    this.#lagMs = lagMs
  }

  // As a server of connections.

  enter(callback: () => void): void {
    if (!this.#isUp) return
    if (this.#held === undefined) callback()
    else this.#held.push(callback)
  }

  connected(connection: Connection): void {
    this.#connections.add(connection)
  }

  disconnected(connection: Connection): void {
    this.#connections.delete(connection)
  }

  /** Breaks the connections over a path. */
  resetConnections(link: Connection['link']): void {
    for (const connection of this.#connections) if (connection.link === link) connection.reset()
  }

  serve(call: Call, connection: Connection): void {
    if (call.method === '/etcdserverpb.Watch/Watch') return this.#serveWatch(call, connection)
    call.accept({
      receive: message => void this.#answer(call, connection, message),
      cancelled: () => undefined,
    })
  }

  // As a member of the cluster.

  follow(): void {
    const { clock, consensus } = this.#options
    if (!this.isConnected) return
    const { view } = consensus.state
    if (this.#lagMs === 0) return this.#apply(view)
    clock.setTimer(this.#lagMs, () => {
      if (this.isConnected) this.#apply(view)
    })
  }

  endStreams(): void {
    if (this.#held !== undefined) return
    for (const call of this.#watches.values()) call.close(etcdError('no leader'))
    this.#watches.clear()
  }

  #apply(view: View): void {
    const { revision, compactRevision } = this.#applied
    if (view.revision < revision || view.compactRevision < compactRevision) return
    this.#applied = view
    for (const watch of this.#watches.keys()) watch.pump()
    const wakes = this.#appliedWakes
    this.#appliedWakes = []
    for (const wake of wakes) wake()
  }

  async #hasApplied(revision: number): Promise<void> {
    while (this.#applied.revision < revision)
      await new Promise<void>(resolve => this.#appliedWakes.push(resolve))
  }

  #serveWatch(call: Call, connection: Connection): void {
    const { clock, random, faults, fragmentBytes, consensus } = this.#options
    const watch: WatchStream = new WatchStream({
      call,
      history: consensus.state.history,
      view: () => this.#applied,
      enter: callback => this.enter(callback),
      clock,
      random,
      faults,
      fragmentBytes,
      reset: () => connection.reset(),
      onClosed: () => this.#watches.delete(watch),
    })
    this.#watches.set(watch, call)
    call.accept(watch)
  }

  async #answer(call: Call, connection: Connection, request: Uint8Array): Promise<void> {
    const life = this.#life
    const respond = (act: () => void): void => {
      if (life === this.#life) this.enter(act)
    }
    try {
      const response = await this.#executeFaultily(call, connection, request)
      respond(() => {
        call.respond(response)
        call.close('ok')
      })
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error
      respond(() => call.close(error))
    }
  }

  async #executeFaultily(call: Call, connection: Connection, request: Uint8Array): Promise<Uint8Array> {
    const { clock, random, faults } = this.#options
    const { requestFaults, chance } = faults()
    const execute = (): Promise<Uint8Array> => this.#execute(call, request)
    const executeMaybe = async (): Promise<void> => {
      if (random.integer('etcd executes', 2) === 0) await execute()
    }
    switch (drawFault(random, 'etcd request fault', { faults: requestFaults, chance })) {
      case 'delay':
        await clock.sleep(random.integer('etcd delay', 4_000))
        return execute()
      case 'lose-request':
        return never()
      case 'lose-response':
        await execute()
        return never()
      case 'execute-late':
        await clock.sleep(3_000 + random.integer('etcd late', 20_000))
        return execute()
      case 'timed-out':
        await executeMaybe()
        throw etcdError('timed out')
      case 'leader-changed':
        await executeMaybe()
        throw etcdError('leader changed')
      case 'too-many-requests':
        throw etcdError('too many requests')
      case 'reset':
        await executeMaybe()
        connection.reset()
        return never()
      case undefined:
        return execute()
    }
  }

  async #execute(call: Call, request: Uint8Array): Promise<Uint8Array> {
    const { consensus, clock, onLease } = this.#options
    const { state } = consensus
    if (request.length > messageBytesMax) throw etcdError('message too large')
    if (request.length > requestBytesMax) throw etcdError('request too large')
    const propose = async <T>(execute: () => T): Promise<T> => {
      const result = await consensus.propose(this, call, () => ({
        value: execute(),
        at: state.view.revision,
      }))
      await this.#hasApplied(result.at)
      return result.value
    }
    switch (call.method) {
      case '/etcdserverpb.KV/Range': {
        await this.#hasApplied(await consensus.readIndex(this, call))
        return RangeResponse.encode(state.range(RangeRequest.decode(request), this.#applied))
      }
      case '/etcdserverpb.KV/Txn':
        return TxnResponse.encode(await propose(() => state.txn(TxnRequest.decode(request))))
      case '/etcdserverpb.KV/Compact':
        return CompactionResponse.encode(
          await propose(() => state.compact(CompactionRequest.decode(request))),
        )
      case '/etcdserverpb.Lease/LeaseGrant': {
        const id = await propose(() =>
          state.grantLease(LeaseGrantRequest.decode(request), clock.monotonicMs()),
        )
        onLease()
        return LeaseGrantResponse.encode({ header: this.#header, id })
      }
      case '/etcdserverpb.Lease/LeaseTimeToLive': {
        await consensus.readIndex(this, call)
        const ttl = state.leaseTimeToLive(LeaseTimeToLiveRequest.decode(request), clock.monotonicMs())
        return LeaseTimeToLiveResponse.encode({ header: this.#header, ttl })
      }
      case '/etcdserverpb.Maintenance/Alarm': {
        await consensus.readIndex(this, call)
        return AlarmResponse.encode({
          header: this.#header,
          alarms: [...state.alarms].map(alarm => ({ alarm })),
        })
      }
      default:
        throw etcdError('unknown method')
    }
  }

  get #header(): { readonly revision: number } {
    return { revision: this.#applied.revision }
  }
}

/** Limits of etcd for a request, and of its gRPC server for a message. */
const requestBytesMax = 1.5 * 1_024 * 1_024
const messageBytesMax = requestBytesMax + 512 * 1_024

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
