import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A connection to a member that can drop all data, or only responses. */
export class Link {
  readonly #server: Server
  readonly #target: { readonly host: string; readonly port: number }
  readonly #pairs = new Set<readonly [near: Socket, far: Socket]>()
  #loses: 'nothing' | 'answers' | 'everything' = 'nothing'
  #droppedBytes = 0

  private constructor(endpoint: string) {
    const [host = '', port] = endpoint.split(':')
    this.#target = { host, port: Number(port) }
    this.#server = createServer({ noDelay: true }, near => this.#accept(near))
  }

  static async to(endpoint: string): Promise<Link> {
    const link = new Link(endpoint)
    await new Promise<void>(resolve => link.#server.listen(0, '127.0.0.1', resolve))
    return link
  }

  get endpoint(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  lose(what: 'answers' | 'everything'): void {
    this.#loses = what
    this.#droppedBytes = 0
  }

  /** Bytes sent to the member and dropped since `lose` was called. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /** Closes all connections; new ones drop nothing. */
  renew(): void {
    this.#loses = 'nothing'
    for (const sockets of this.#pairs) for (const socket of sockets) socket.destroy()
  }

  close(): void {
    this.#server.close()
    this.renew()
  }

  #accept(near: Socket): void {
    const far = connect({ ...this.#target, noDelay: true })
    const pair = [near, far] as const
    this.#pairs.add(pair)
    near.on('data', chunk => {
      if (this.#loses === 'everything') this.#droppedBytes += chunk.length
      else far.write(chunk)
    })
    far.on('data', chunk => this.#loses !== 'nothing' || near.write(chunk))
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#pairs.delete(pair)
        near.destroy()
        far.destroy()
      })
    }
  }
}
