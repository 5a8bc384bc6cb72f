/** The network as seen by one life on one host. */
import type { Duplex } from 'node:stream'
import type { DatagramSocket, Listener, Network, OnConnection, SocketAddress } from '../platform.ts'
import { connectionPair } from './connection.ts'
import type { Life } from './life.ts'
import {
  isLoopback,
  type BoundListener,
  type BoundSocket,
  type NetworkNode,
  type SimulatedNetwork,
} from './network.ts'
import { never, systemError, type World } from './world.ts'

/** Timeout of connecting to a host that is down or separated by a partition. */
export const connectTimeoutMs = 10_000

/** Maximum payload of UDP over IPv4; larger datagrams are lost. */
const datagramBytesMax = 65_507

/** Maximum unread datagrams of a stopped process; further ones are dropped, as by the kernel. */
const unreadDatagramsMax = 1_000

export class HostNetwork implements Network {
  readonly #world: World
  readonly #network: SimulatedNetwork
  readonly #node: NetworkNode
  readonly #life: Life

  constructor(options: { world: World; network: SimulatedNetwork; node: NetworkNode; life: Life }) {
    this.#world = options.world
    this.#network = options.network
    this.#node = options.node
    this.#life = options.life
  }

  listen(address: SocketAddress, onConnection: OnConnection): Promise<Listener> {
    return this.#bind(address, this.#node.listeners, { life: this.#life, onConnection })
  }

  async bindDatagram(address: SocketAddress, onMessage: BoundSocket['onMessage']): Promise<DatagramSocket> {
    const socket = { life: this.#life, onMessage }
    const bound = await this.#bind(address, this.#node.sockets, socket)
    const place = placeOf(bound.address)
    const from = typeof place === 'string' ? { path: place } : { host: this.#node.address, port: place }
    const isOpen = (): boolean => this.#node.sockets.get(place) === socket
    return { ...bound, send: (message, to) => (isOpen() ? this.#send(message, { from, to }) : undefined) }
  }

  connect(address: SocketAddress, signal?: AbortSignal): Promise<Duplex> {
    if (this.#life.ended) return never()
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      let settled = false
      const settle = (): void => {
        settled = true
        timeout.cancel()
        signal?.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        settle()
        reject(signal?.reason)
      }
      const fail = (code: string, why: string): void => {
        settle()
        reject(systemError(code, `cannot connect to ${show(address)}: ${why}`))
      }
      const timeout = this.#life.later(connectTimeoutMs, () => fail('ETIMEDOUT', 'no answer'))
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#knock(address, {
        refused: fail,
        accepted: connection => {
          // A connection established after an abort is discarded.
          if (settled) connection.destroy()
          settle()
          resolve(connection)
        },
      })
    })
  }

  /** Sends a connection request. Neither callback is called if there is no answer or it comes too late. */
  #knock(address: SocketAddress, answer: Answer): void {
    const from = this.#node
    const to = this.#nodeAt(address)
    const place = placeOf(address)
    if (to === undefined) {
      this.#life.later(0, () => answer.refused('ENOTFOUND', 'no such host'))
      return
    }
    if (this.#network.isSeparated(from, to)) return
    this.#network.sendOrdered(from, to, () => {
      if (!to.up()) return
      const listener = to.listeners.get(place)
      if (listener === undefined || this.#network.strikes('refuseRate', from, to)) {
        const code = 'path' in address && listener === undefined ? 'ENOENT' : 'ECONNREFUSED'
        const refuse = (): void => answer.refused(code, 'connection refused')
        this.#network.sendOrdered(to, from, () => this.#life.enter(refuse))
      } else {
        this.#accept({ node: to, place, listener, answer })
      }
    })
  }

  #accept({ node, place, listener, answer }: Knock): void {
    if (this.#life.ended || listener.life.ended) return
    const name = `${this.#node.name}>${node.name}:${place}`
    const wire = { world: this.#world, network: this.#network, name }
    const client = { node: this.#node, life: this.#life }
    const [near, far] = connectionPair(wire, client, { node, life: listener.life })
    this.#world.trace.record(node.name, `accepted ${name}`)
    listener.life.enter(() => listener.onConnection(far, this.#node.address))
    this.#network.sendOrdered(node, this.#node, () =>
      this.#life.enter(() => {
        if (near.destroyed) answer.refused('ECONNRESET', 'reset at once')
        else answer.accepted(near)
      }),
    )
  }

  #send(message: Uint8Array, { from, to }: { from: SocketAddress; to: SocketAddress }): void {
    if (this.#life.ended) return
    const node = this.#nodeAt(to)
    const place = placeOf(to)
    const what = `datagram ${this.#node.name}>${node?.name ?? 'unreachable'}:${place} ${message.length}`
    if (node === undefined || message.length > datagramBytesMax) {
      const why = node === undefined ? 'no such host' : 'too large'
      return this.#world.trace.record(this.#node.name, `sent ${what}, dropped: ${why}`)
    }
    // Copied, because the sender may reuse its buffer, and once per arrival, because a reader may write to
    // it.
    const sent = Uint8Array.from(message)
    const arrive = (): void => {
      const socket = node.sockets.get(place)
      const record = (text: string): void => this.#world.trace.record(node.name, text)
      if (socket === undefined) return record(`dropped ${what}: no listener`)
      if (socket.life.heldCount >= unreadDatagramsMax) return record(`dropped ${what}: unread`)
      record(`received ${what}`)
      socket.life.enter(() => socket.onMessage(Uint8Array.from(sent), from))
    }
    this.#network.sendDatagram(this.#node, node, { what, arrive })
  }

  /** The host of an address. */
  #nodeAt(address: SocketAddress): NetworkNode | undefined {
    return 'path' in address ? this.#node : this.#network.resolve(this.#node, address.host)
  }

  async #bind<T>(address: SocketAddress, ports: Map<number | string, T>, bound: T): Promise<Listener> {
    if (this.#life.ended) return never()
    const where = this.#place(address, ports)
    if (ports.has(where)) throw systemError('EADDRINUSE', `${show(address)} is taken`)
    ports.set(where, bound)
    const release = (): void => void ports.delete(where)
    const forget = this.#life.onEnd(release)
    return {
      address: typeof where === 'string' || 'path' in address ? address : { host: address.host, port: where },
      [Symbol.asyncDispose]: async () => {
        if (this.#life.ended) return never()
        forget()
        release()
      },
    }
  }

  #place(address: SocketAddress, ports: ReadonlyMap<number | string, unknown>): number | string {
    if ('path' in address) return address.path
    if (!isLoopback(address.host) && this.#network.resolve(this.#node, address.host) !== this.#node) {
      throw systemError('EADDRNOTAVAIL', `${address.host} is not an address of ${this.#node.name}`)
    }
    return address.port === 0 ? this.#node.freePort(ports) : address.port
  }
}

interface Knock {
  readonly node: NetworkNode
  readonly place: number | string
  readonly listener: BoundListener
  readonly answer: Answer
}

interface Answer {
  readonly refused: (code: string, why: string) => void
  readonly accepted: (connection: Duplex) => void
}

function placeOf(address: SocketAddress): number | string {
  return 'path' in address ? address.path : address.port
}

function show(address: SocketAddress): string {
  return 'path' in address ? address.path : `${address.host}:${address.port}`
}
