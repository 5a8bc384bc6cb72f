import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { defaultHttpLimits, type LocalHttpOptions, type LocalHttpServer } from '../http.ts'
import type { SocketAddress } from '../platform.ts'
import { http } from './builtin-http.ts'
import { Connection } from './http/connection.ts'
import { ignoringErrors } from './http/exchange.ts'
import { Http1Exchange } from './http/http1-exchange.ts'

/** A body may come from a user who types it. */
const limits = { ...defaultHttpLimits, bodyTimeoutMs: 2 ** 31 - 1 }

export class NodeLocalHttpServer implements LocalHttpServer {
  readonly #options: LocalHttpOptions
  readonly #server: Server
  readonly #connections = new WeakMap<Socket, Connection>()

  private constructor(options: LocalHttpOptions) {
    this.#options = options
    const { headerBytesMax, headerTimeoutMs } = limits
    this.#server = http.createServer({
      maxHeaderSize: headerBytesMax,
      headersTimeout: headerTimeoutMs,
      requestTimeout: 0,
      noDelay: true,
    })
    this.#attend()
  }

  static async start(options: LocalHttpOptions): Promise<LocalHttpServer> {
    const server = new NodeLocalHttpServer(options)
    await server.#listen(options.address)
    return server
  }

  get address(): SocketAddress {
    if ('path' in this.#options.address) return this.#options.address
    const { address, port } = this.#server.address() as AddressInfo
    return { host: address, port }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #listen(address: SocketAddress): Promise<void> {
    // The socket is made within the call, so nothing else in this process gets the mask.
    const mask = 'path' in address ? process.umask(0o077) : undefined
    try {
      this.#server.listen(address)
    } finally {
      if (mask !== undefined) process.umask(mask)
    }
    await once(this.#server, 'listening')
  }

  #attend(): void {
    const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      const connection = this.#connectionOf(incoming.socket)
      this.#options.onExchange(
        new Http1Exchange({ connection, headers: incoming.headers, incoming, outgoing }),
      )
    }
    this.#server.on('request', serve)
    this.#server.on('checkContinue', serve)
    this.#server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Uint8Array) => {
      const connection = this.#connectionOf(incoming.socket)
      const outgoing = new http.ServerResponse(incoming)
      outgoing.shouldKeepAlive = false
      outgoing.assignSocket(incoming.socket)
      outgoing.once('finish', () => incoming.socket.destroySoon())
      const upgrade = { connection: ignoringErrors(socket), head }
      this.#options.onExchange(
        new Http1Exchange({ connection, headers: incoming.headers, incoming, outgoing, upgrade }),
      )
    })
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket)
    if (known !== undefined) return known
    const connection = new Connection({
      address: socket.remoteAddress ?? '',
      limits,
      transport: { close: () => socket.end(), destroy: () => socket.destroy() },
      onRejected: () => undefined,
      onAuthenticated: () => undefined,
    })
    this.#connections.set(socket, connection)
    return connection
  }
}
