/** A TLS connection that is forwarded by its server name without being decrypted. */
import type { Duplex } from 'node:stream'
import type { Platform } from '#/platform/platform.ts'
import type { ExchangeContext } from '../exchange-context.ts'
import { clientHelloBytesMax, parseClientHello } from '../message/client-hello.ts'
import { matchRoute } from '../routing/match-route.ts'
import { planRequest } from '../routing/plan-request.ts'
import { attemptsMax } from '../proxy-limits.ts'
import { Tunnel } from '../tunnel.ts'
import type { Endpoint } from '../backends/endpoint.ts'
import type { ClientConnection } from './client-connection.ts'

export interface PassthroughClientOptions {
  readonly socket: Duplex
  readonly context: ExchangeContext
  readonly network: Platform['network']
  readonly onClose: () => void
}

export class PassthroughClient implements ClientConnection {
  readonly #options: PassthroughClientOptions
  readonly #startedMs: number
  #received = Buffer.alloc(0)
  #isForwarding = false

  constructor(options: PassthroughClientOptions) {
    const { socket, context, onClose } = options
    this.#options = options
    this.#startedMs = context.core.clock.monotonicMs()
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.once('end', () => {
      if (!this.#isForwarding) socket.destroy()
    })
    socket.once('close', onClose)
  }

  /** What is in the connection is unknown, so it is not ended. */
  drain(): void {
    if (!this.#isForwarding) this.destroy()
  }

  destroy(): void {
    this.#options.socket.destroy()
  }

  sweep(nowMs: number): void {
    const { headerTimeoutMs } = this.#options.context.core.limits
    if (!this.#isForwarding && nowMs - this.#startedMs > headerTimeoutMs) this.destroy()
  }

  #receive(bytes: Buffer): void {
    const { socket, context } = this.#options
    this.#received = Buffer.concat([this.#received, bytes])
    const hello = parseClientHello(this.#received)
    if (hello.type === 'incomplete' && this.#received.length <= clientHelloBytesMax) return
    socket.pause()
    socket.removeAllListeners('data')
    this.#isForwarding = true
    if (hello.type === 'complete' && hello.serverName !== undefined)
      return void this.#forward(hello.serverName)
    context.core.rejected('tls')
    socket.destroy()
  }

  async #forward(hostname: string): Promise<void> {
    const { socket, context } = this.#options
    const { core, scheme, port, table } = context
    const request = {
      method: '',
      hostname,
      path: '/',
      target: '/',
      fields: [],
      authority: hostname,
      scheme,
      port,
    }
    const compiled = matchRoute(table, request)
    const plan = compiled && planRequest(compiled, request, core.draw)
    if (plan?.type !== 'forward') return void socket.destroy()
    const connected = await this.#connect(plan.backend)
    if (connected === undefined || socket.destroyed) {
      connected?.connection.destroy()
      return void socket.destroy()
    }
    const { connection, endpoint } = connected
    endpoint.outstanding++
    const client = { connection: socket, head: this.#received }
    const tunnel = new Tunnel(client, { connection, head: new Uint8Array() }, () => {
      endpoint.outstanding--
      core.tunnels.delete(tunnel)
    })
    core.tunnels.add(tunnel)
    tunnel.start(core.clock)
  }

  async #connect(
    backend: string,
  ): Promise<{ readonly connection: Duplex; readonly endpoint: Endpoint } | undefined> {
    const { network, context } = this.#options
    const { core, clientAddress } = context
    const pool = core.backends.get(backend)
    const excluded: Endpoint[] = []
    while (excluded.length < attemptsMax) {
      const endpoint = pool?.choose({ clientAddress, excluded, nowMs: core.clock.monotonicMs() })
      if (endpoint === undefined) return undefined
      const aborting = new AbortController()
      const timer = core.clock.setTimer(core.limits.connectTimeoutMs, () => aborting.abort())
      try {
        const { address: host, port } = endpoint.at
        return { connection: await network.connect({ host, port }, aborting.signal), endpoint }
      } catch (error) {
        endpoint.refused(core.clock.monotonicMs())
        core.backendFailed(backend, 'unreachable', error)
        excluded.push(endpoint)
      } finally {
        timer.cancel()
      }
    }
    return undefined
  }
}
