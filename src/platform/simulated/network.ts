/**
 * The network between the hosts of a simulation. Each link, one host to another, draws its own delays and
 * faults.
 *
 * Datagrams are lost, doubled, and overtaken when the reorder fault strikes; otherwise a link keeps their
 * order. Streams keep order always: they are delayed, split, cut or refused. A partition loses datagrams and
 * holds what streams carry until it heals, as TCP would by sending again; who does not want to wait that long
 * needs a timeout. A host talks to itself without faults.
 */
import type { Duplex } from 'node:stream'
import { assert } from '#/base/assert.ts'
import type { SocketAddress } from '../platform.ts'
import { between, chance } from './labelled-random.ts'
import type { Life } from './life.ts'
import type { World } from './world.ts'

/** Rates go from 0, never, to 1, always. */
export interface NetworkFaults {
  readonly delayMinMs: number
  readonly delayMaxMs: number
  /** Datagrams that are lost. */
  readonly dropRate: number
  /** Datagrams that arrive twice. */
  readonly duplicateRate: number
  /** Datagrams that take up to `reorderDelayMaxMs` longer and let those behind them overtake. */
  readonly reorderRate: number
  readonly reorderDelayMaxMs: number
  /** Connection attempts that are refused although somebody listens. */
  readonly refuseRate: number
  /** Writes to a stream at which the connection breaks instead. */
  readonly cutRate: number
  /** Writes to a stream that arrive in two pieces. */
  readonly splitRate: number
}

type FaultRate = keyof NetworkFaults & `${string}Rate`

const faultless: NetworkFaults = {
  delayMinMs: 0.1,
  delayMaxMs: 1,
  dropRate: 0,
  duplicateRate: 0,
  reorderRate: 0,
  reorderDelayMaxMs: 50,
  refuseRate: 0,
  cutRate: 0,
  splitRate: 0,
}

/** How long a host's message to itself takes. */
const loopbackDelayMs = 0.02

/** Datagrams under way on one link; the next ones are lost, as in a full router. */
const datagramsInFlightMax = 10_000

/** What one host is to the network. */
export interface NetworkNode {
  readonly name: string
  readonly address: string
  /** By port, or by path for a unix socket. */
  readonly listeners: Map<number | string, BoundListener>
  readonly sockets: Map<number | string, BoundSocket>
  /** Whether anything answers at all, if only with a refusal. */
  up(): boolean
  /** A port for whoever binds to port 0. */
  freePort(taken: ReadonlyMap<number | string, unknown>): number
}

export interface BoundListener {
  readonly life: Life
  readonly onConnection: (connection: Duplex) => void
}

export interface BoundSocket {
  readonly life: Life
  readonly onMessage: (message: Uint8Array, from: SocketAddress) => void
}

/** What a test does to the network. */
export interface NetworkControl {
  readonly faults: NetworkFaults
  /** Changes these faults from now on and leaves the others. */
  setFaults(faults: Partial<NetworkFaults>): void
  /**
   * From now on nothing passes between a host of the one group and a host of the other, in either direction.
   */
  partition(left: readonly string[], right: readonly string[]): void
  /** Ends every partition. */
  heal(): void
  /** Breaks every connection that is open between the two hosts. */
  cut(left: string, right: string): void
}

/** One direction between two hosts. */
interface Link {
  /** When the last thing that keeps its order arrives: nothing ordered arrives before it. */
  orderedUntilMs: number
  datagramsInFlight: number
}

export class SimulatedNetwork implements NetworkControl {
  readonly #world: World
  #faults: NetworkFaults
  readonly #nodes = new Map<string, NetworkNode>()
  readonly #links = new Map<string, Link>()
  /** Pairs of names, smaller one first, between which nothing passes. */
  readonly #separated = new Set<string>()
  /**
   * What streams carry across a partition, in the order it was sent; each stream's window bounds its share.
   */
  #held: (() => void)[] = []
  readonly #connections = new Set<OpenConnection>()

  constructor(world: World, faults: Partial<NetworkFaults>) {
    this.#world = world
    this.#faults = { ...faultless, ...faults }
  }

  get faults(): NetworkFaults {
    return this.#faults
  }

  setFaults(faults: Partial<NetworkFaults>): void {
    this.#faults = { ...this.#faults, ...faults }
  }

  partition(left: readonly string[], right: readonly string[]): void {
    for (const one of left) {
      for (const other of right) this.#separated.add(pair(this.node(one), this.node(other)))
    }
    this.#world.trace.record('network', `partition ${left.join(' ')} | ${right.join(' ')}`)
  }

  heal(): void {
    this.#separated.clear()
    this.#world.trace.record('network', 'heal')
    const held = this.#held
    this.#held = []
    for (const send of held) send()
  }

  cut(left: string, right: string): void {
    const names = pair(this.node(left), this.node(right))
    for (const connection of this.#connections) {
      if (pair(...connection.nodes) === names) connection.cut()
    }
  }

  attach(node: NetworkNode): void {
    this.#nodes.set(node.name, node)
    this.#nodes.set(node.address, node)
  }

  /** The host with this name or address. */
  node(name: string): NetworkNode {
    const node = this.#nodes.get(name)
    assert(node, `no host ${name} in the simulation`)
    return node
  }

  /** Whom a host means by a name. */
  resolve(from: NetworkNode, host: string): NetworkNode | undefined {
    return isLoopback(host) ? from : this.#nodes.get(host)
  }

  track(connection: OpenConnection): () => void {
    this.#connections.add(connection)
    return () => void this.#connections.delete(connection)
  }

  /** Whether a partition lies between the two. */
  isSeparated(left: NetworkNode, right: NetworkNode): boolean {
    return left !== right && this.#separated.has(pair(left, right))
  }

  /** Whether a fault with this rate strikes on the link now. */
  strikes(fault: FaultRate, from: NetworkNode, to: NetworkNode): boolean {
    return from !== to && chance(this.#world.random, label(from, to, fault), this.#faults[fault])
  }

  /** A number that concerns the link. */
  draw(what: string, { from, to, below }: { from: NetworkNode; to: NetworkNode; below: number }): number {
    return this.#world.random.integer(label(from, to, what), below)
  }

  /** Something that may be lost. `arrive` is called once for every copy that comes through. */
  sendDatagram(from: NetworkNode, to: NetworkNode, options: { what: string; arrive: () => void }): void {
    const { what, arrive } = options
    const lost = this.#whyLost(from, to)
    this.#world.trace.record(from.name, `sent ${what}${lost === undefined ? '' : `, dropped: ${lost}`}`)
    if (lost !== undefined) return
    const doubled = this.strikes('duplicateRate', from, to)
    for (let copy = 0; copy < (doubled ? 2 : 1); copy++) {
      const link = this.#link(from, to)
      link.datagramsInFlight++
      this.#world.time.schedule(this.#datagramDelayMs(from, to), () => {
        link.datagramsInFlight--
        arrive()
      })
    }
  }

  /** Something that arrives for certain and in order, but during a partition waits for its end. */
  sendOrdered(from: NetworkNode, to: NetworkNode, arrive: () => void): void {
    if (this.isSeparated(from, to)) {
      this.#held.push(() => this.sendOrdered(from, to, arrive))
    } else {
      this.#world.time.schedule(this.#orderedDelayMs(from, to), arrive)
    }
  }

  #whyLost(from: NetworkNode, to: NetworkNode): string | undefined {
    if (this.isSeparated(from, to)) return 'partition'
    if (this.#link(from, to).datagramsInFlight >= datagramsInFlightMax) return 'too many in flight'
    if (this.strikes('dropRate', from, to)) return 'lost'
    return undefined
  }

  #datagramDelayMs(from: NetworkNode, to: NetworkNode): number {
    if (!this.strikes('reorderRate', from, to)) return this.#orderedDelayMs(from, to)
    const extra = { min: 0, max: this.#faults.reorderDelayMaxMs }
    return this.#delayMs(from, to) + between(this.#world.random, label(from, to, 'reorder delay'), extra)
  }

  #orderedDelayMs(from: NetworkNode, to: NetworkNode): number {
    const { nowMs } = this.#world.time
    const link = this.#link(from, to)
    link.orderedUntilMs = Math.max(link.orderedUntilMs, nowMs + this.#delayMs(from, to))
    return link.orderedUntilMs - nowMs
  }

  #delayMs(from: NetworkNode, to: NetworkNode): number {
    if (from === to) return loopbackDelayMs
    const range = { min: this.#faults.delayMinMs, max: this.#faults.delayMaxMs }
    // In whole microseconds, as the clock counts, so that rounding cannot swap two messages.
    return Math.round(between(this.#world.random, label(from, to, 'delay'), range) * 1_000) / 1_000
  }

  #link(from: NetworkNode, to: NetworkNode): Link {
    const key = `${from.name}>${to.name}`
    const known = this.#links.get(key)
    if (known !== undefined) return known
    const link = { orderedUntilMs: 0, datagramsInFlight: 0 }
    this.#links.set(key, link)
    return link
  }
}

export interface OpenConnection {
  readonly nodes: readonly [NetworkNode, NetworkNode]
  cut(): void
}

/** A host as its own name: what a server binds to and what a client on the same host connects to. */
export function isLoopback(host: string): boolean {
  return ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::'].includes(host)
}

function pair(left: NetworkNode, right: NetworkNode): string {
  return left.name < right.name ? `${left.name} ${right.name}` : `${right.name} ${left.name}`
}

function label(from: NetworkNode, to: NetworkNode, what: string): string {
  return `network/${from.name}>${to.name}/${what}`
}
