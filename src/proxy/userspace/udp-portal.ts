import type { DatagramSocket, Platform, SocketAddress, Timer } from '#/platform/platform.ts'
import type { ServiceEndpoint } from '../plan.ts'
import type { EndpointBalancer } from './endpoint-balancer.ts'
import type { ConnectionLimit, Portal } from './portal.ts'

/** A client that is silent for this long is forgotten; its next datagram may reach another endpoint. */
const idleMs = 10_000

/** Datagrams of one client that wait while its socket is being opened; further ones are lost. */
const waitingMax = 16

/** Receives the datagrams to a service port, and sends those of each client from a socket of its own. */
export class UdpPortal implements Portal {
  readonly #platform: Pick<Platform, 'clock' | 'network'>
  readonly #balancer: EndpointBalancer
  readonly #limit: ConnectionLimit
  readonly #clients = new Map<string, Client>()
  #socket: DatagramSocket | undefined
  #isDisposed = false

  constructor(
    platform: Pick<Platform, 'clock' | 'network'>,
    balancer: EndpointBalancer,
    limit: ConnectionLimit,
  ) {
    this.#platform = platform
    this.#balancer = balancer
    this.#limit = limit
  }

  async listen(host: string): Promise<number> {
    this.#socket = await this.#platform.network.bindDatagram({ host, port: 0 }, (message, from) =>
      this.#receive(message, from),
    )
    const { address } = this.#socket
    return 'port' in address ? address.port : 0
  }

  /** A client that never pauses must not keep sending to an endpoint that is gone. */
  endpointsChanged(): void {
    for (const [key, { endpoint }] of this.#clients) if (!this.#balancer.has(endpoint)) this.#forget(key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    for (const key of this.#clients.keys()) this.#forget(key)
    await this.#socket?.[Symbol.asyncDispose]()
  }

  #receive(message: Uint8Array, from: SocketAddress): void {
    if ('path' in from) return
    const key = `${from.host} ${from.port}`
    const client = this.#clients.get(key) ?? this.#add(key, from)
    if (client === undefined) return
    this.#keep(key, client)
    if (client.socket) client.socket.send(message, addressOf(client.endpoint))
    else if (client.waiting.length < waitingMax) client.waiting.push(message)
  }

  /** Undefined at the bound and without endpoints: the datagram is lost. */
  #add(key: string, from: { readonly host: string; readonly port: number }): Client | undefined {
    if (!this.#limit.take()) return undefined
    const nowMs = this.#platform.clock.monotonicMs()
    const [endpoint] = this.#balancer.order(from.host, nowMs)
    if (endpoint === undefined) {
      this.#limit.release()
      return undefined
    }
    this.#balancer.used(from.host, endpoint, nowMs)
    const client: Client = { endpoint, waiting: [], socket: undefined, timer: undefined }
    this.#clients.set(key, client)
    void this.#open(key, client, from)
    return client
  }

  async #open(key: string, client: Client, from: SocketAddress): Promise<void> {
    const { network } = this.#platform
    const { endpoint } = client
    const host = endpoint.address.includes(':') ? '::' : '0.0.0.0'
    try {
      const socket = await network.bindDatagram({ host, port: 0 }, (message, sender) => {
        // Any host may send to the socket.
        if ('path' in sender || sender.host !== endpoint.address || sender.port !== endpoint.port) return
        this.#socket?.send(message, from)
        this.#keep(key, client)
      })
      if (this.#isDisposed || this.#clients.get(key) !== client) return void socket[Symbol.asyncDispose]()
      client.socket = socket
      for (const message of client.waiting.splice(0)) socket.send(message, addressOf(endpoint))
    } catch {
      this.#forget(key)
    }
  }

  #keep(key: string, client: Client): void {
    if (this.#clients.get(key) !== client) return
    client.timer?.cancel()
    client.timer = this.#platform.clock.setTimer(idleMs, () => this.#forget(key))
  }

  #forget(key: string): void {
    const client = this.#clients.get(key)
    if (client === undefined) return
    this.#clients.delete(key)
    client.timer?.cancel()
    void client.socket?.[Symbol.asyncDispose]()
    this.#limit.release()
  }
}

interface Client {
  readonly endpoint: ServiceEndpoint
  readonly waiting: Uint8Array[]
  socket: DatagramSocket | undefined
  timer: Timer | undefined
}

function addressOf({ address, port }: ServiceEndpoint): SocketAddress {
  return { host: address, port }
}
