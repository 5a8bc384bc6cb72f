/**
 * The network between the hosts of a simulation. Each link, from one host to another, draws its own delays
 * and faults.
 *
 * Datagrams are lost, duplicated and, with the reorder fault, reordered; otherwise a link keeps their order.
 * Streams always keep order: they are delayed, split, cut or refused. A partition drops datagrams and holds
 * stream data until it heals, as with TCP retransmission; code that must not wait that long needs a timeout.
 * Loopback traffic has no faults.
 */
import { assert } from '#/base/assert.ts'
import type { OnConnection, SocketAddress } from '../platform.ts'
import { between, chance } from './labelled-random.ts'
import type { Life } from './life.ts'
import type { World } from './world.ts'

/** Rates are probabilities from 0 to 1. */
export interface NetworkFaults {
  readonly delayMinMs: number
  readonly delayMaxMs: number
  /** Rate of lost datagrams. */
  readonly dropRate: number
  /** Rate of datagrams that arrive twice. */
  readonly duplicateRate: number
  /** Rate of datagrams that are delayed by up to `reorderDelayMaxMs`, so that later ones overtake them. */
  readonly reorderRate: number
  readonly reorderDelayMaxMs: number
  /** Rate of connection attempts that are refused although there is a listener. */
  readonly refuseRate: number
  /** Rate of writes to a stream that break the connection. */
  readonly cutRate: number
  /** Rate of writes to a stream that arrive in two pieces. */
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

/** Latency of loopback traffic. */
const loopbackDelayMs = 0.02

/** Maximum datagrams in flight on one link; further ones are lost, as in a full router. */
const datagramsInFlightMax = 10_000

/** One host as seen by the network. */
export interface NetworkNode {
  readonly name: string
  readonly address: string
  /** By port, or by path for a unix socket. */
  readonly listeners: Map<number | string, BoundListener>
  readonly sockets: Map<number | string, BoundSocket>
  /** True if the host is running and so at least refuses connections. */
  up(): boolean
  /** Allocates a port for binding to port 0. */
  freePort(taken: ReadonlyMap<number | string, unknown>): number
}

export interface BoundListener {
  readonly life: Life
  readonly onConnection: OnConnection
}

export interface BoundSocket {
  readonly life: Life
  readonly onMessage: (message: Uint8Array, from: SocketAddress) => void
}

/** Fault injection into the network. */
export interface NetworkControl {
  readonly faults: NetworkFaults
  /** Changes these faults from now on and keeps the rest. */
  setFaults(faults: Partial<NetworkFaults>): void
  /** From now on nothing passes between a host of one group and a host of the other, in either direction. */
  partition(left: readonly string[], right: readonly string[]): void
  /** Ends every partition. */
  heal(): void
  /** Breaks every open connection between the two hosts. */
  cut(left: string, right: string): void
}

/** One direction between two hosts. */
interface Link {
  /** Latest arrival time of ordered data on this link; later data does not arrive before it. */
  orderedUntilMs: number
  datagramsInFlight: number
}

export class SimulatedNetwork implements NetworkControl {
  readonly #world: World
  #faults: NetworkFaults
  readonly #nodes = new Map<string, NetworkNode>()
  readonly #links = new Map<string, Link>()
  /** Pairs of names, the smaller one first, separated by a partition. */
  readonly #separated = new Set<string>()
  /** Stream data held by partitions, in the order of sending; bounded by the window of each stream. */
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

  /** Resolves a host name or address. */
  resolve(from: NetworkNode, host: string): NetworkNode | undefined {
    return isLoopback(host) ? from : this.#nodes.get(host)
  }

  track(connection: OpenConnection): () => void {
    this.#connections.add(connection)
    return () => void this.#connections.delete(connection)
  }

  /** True if a partition separates the two hosts. */
  isSeparated(left: NetworkNode, right: NetworkNode): boolean {
    return left !== right && this.#separated.has(pair(left, right))
  }

  /** Draws whether a fault with this rate occurs on the link. */
  strikes(fault: FaultRate, from: NetworkNode, to: NetworkNode): boolean {
    return from !== to && chance(this.#world.random, label(from, to, fault), this.#faults[fault])
  }

  /** Draws a random number for the link. */
  draw(what: string, { from, to, below }: { from: NetworkNode; to: NetworkNode; below: number }): number {
    return this.#world.random.integer(label(from, to, what), below)
  }

  /** Sends something that may be lost. `arrive` is called once for every copy that arrives. */
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

  /** Sends something that arrives reliably and in order, but after any partition has healed. */
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
    // In whole microseconds, the resolution of the clock, so that rounding cannot swap two messages.
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

/** True for a name or address by which a host connects to itself. */
export function isLoopback(host: string): boolean {
  return ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::'].includes(host)
}

function pair(left: NetworkNode, right: NetworkNode): string {
  return left.name < right.name ? `${left.name} ${right.name}` : `${right.name} ${left.name}`
}

function label(from: NetworkNode, to: NetworkNode, what: string): string {
  return `network/${from.name}>${to.name}/${what}`
}
