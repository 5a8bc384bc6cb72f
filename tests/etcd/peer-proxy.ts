import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * A proxy in front of a member's peer port. The sender is identified by a header of the first request, so
 * that pairs of members can be partitioned: their data is then dropped, as with a disconnected cable.
 */
export class PeerProxy {
  readonly #server: Server
  readonly #targetPort: number
  readonly #isCut: (from: string) => boolean
  readonly #connections = new Set<Connection>()

  private constructor(options: PeerProxyOptions) {
    this.#targetPort = options.targetPort
    this.#isCut = options.isCut
    this.#server = createServer({ noDelay: true }, socket => this.#accept(socket))
  }

  static async start(options: PeerProxyOptions): Promise<PeerProxy> {
    const proxy = new PeerProxy(options)
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Applies changed partitions: affected connections are closed or silenced. */
  refresh(): void {
    for (const connection of this.#connections) {
      const isCut = this.#isCut(connection.from)
      if (isCut && !connection.isSilent) silence(connection)
      if (!isCut && connection.isSilent) close(connection)
    }
  }

  close(): void {
    this.#server.close()
    for (const connection of this.#connections) close(connection)
  }

  #accept(near: Socket): void {
    const far = connect({ host: '127.0.0.1', port: this.#targetPort, noDelay: true })
    const connection: Connection = { near, far, from: '', isSilent: false }
    this.#connections.add(connection)
    for (const socket of [near, far]) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        if (!connection.isSilent) close(connection)
        this.#connections.delete(connection)
      })
    }
    let head = ''
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      near.off('data', read)
      near.pause()
      connection.from = /\r\nx-peerurls: *([^\r]*)/i.exec(head)?.[1] ?? ''
      if (this.#isCut(connection.from)) return silence(connection)
      far.write(head, 'latin1')
      near.pipe(far)
      far.pipe(near)
    }
    near.on('data', read)
  }
}

interface PeerProxyOptions {
  readonly targetPort: number
  /** True if data from the member with this URL, or from an unidentified sender, is dropped. */
  readonly isCut: (from: string) => boolean
}

interface Connection {
  readonly near: Socket
  readonly far: Socket
  from: string
  isSilent: boolean
}

function silence(connection: Connection): void {
  connection.isSilent = true
  connection.near.unpipe()
  connection.far.unpipe()
  connection.near.pause()
  connection.far.pause()
}

function close(connection: Connection): void {
  connection.near.destroy()
  connection.far.destroy()
}
