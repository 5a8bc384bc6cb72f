import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * A TCP load balancer that distributes connections round-robin over the ports that accept them. Each side of
 * a connection closes with the other.
 */
export class Balancer implements AsyncDisposable {
  readonly #server: Server
  readonly #targets: readonly number[]
  readonly #sockets = new Set<Socket>()
  #turn = 0

  private constructor(targets: readonly number[]) {
    this.#targets = targets
    this.#server = createServer({ pauseOnConnect: true }, near => void this.#pass(near))
  }

  static async start(targets: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(targets)
    balancer.#server.listen(0, '127.0.0.1')
    await once(balancer.#server, 'listening')
    return balancer
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #pass(near: Socket): Promise<void> {
    this.#keep(near)
    const far = await this.#reach()
    if (far === undefined || near.destroyed) {
      near.destroy()
      far?.destroy()
      return
    }
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    near.pipe(far).pipe(near)
  }

  async #reach(): Promise<Socket | undefined> {
    const first = this.#turn++
    for (let index = 0; index < this.#targets.length; index++) {
      const port = this.#targets[(first + index) % this.#targets.length]!
      const far = connect({ host: '127.0.0.1', port, noDelay: true })
      this.#keep(far)
      const isOpen = await once(far, 'connect').then(
        () => true,
        () => false,
      )
      if (isOpen) return far
    }
    return undefined
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
  }
}
