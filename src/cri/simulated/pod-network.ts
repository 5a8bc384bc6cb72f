import { duplexPair, type Duplex } from 'node:stream'
import { GrpcError, type GrpcChannel, type GrpcConnect } from '#/platform/grpc.ts'
import { HttpClientError, type HttpClient, type HttpConnect } from '#/platform/http-client.ts'
import type { Clock, SocketAddress } from '#/platform/platform.ts'
import type { HttpScript } from './script.ts'
import type { SimulatedContainer } from './simulated-container.ts'
import type { SimulatedSandbox } from './simulated-sandbox.ts'

/** Network of simulated pods: serves connections, HTTP requests and gRPC health checks by pod IP. */
export class PodNetwork {
  readonly #clock: Clock
  readonly #find: (address: string) => SimulatedSandbox | undefined

  constructor(clock: Clock, find: (address: string) => SimulatedSandbox | undefined) {
    this.#clock = clock
    this.#find = find
  }

  async connect(address: SocketAddress, signal?: AbortSignal): Promise<Duplex> {
    signal?.throwIfAborted()
    const target = 'port' in address ? this.#listener(address.host, address.port) : undefined
    if (target === undefined || !('port' in address)) throw refused()
    const connection = target.connect(address.port)
    if (connection !== undefined) return connection
    const [outside, inside] = duplexPair()
    inside.resume()
    return outside
  }

  readonly connectHttp: HttpConnect = ({ origin }) => {
    const { hostname, port, protocol } = new URL(origin)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const number = Number(port || (protocol === 'https:' ? 443 : 80))
    const unreachable = (): HttpClientError => {
      return new HttpClientError('unreachable', `cannot connect to ${origin}`, {
        cause: refused(),
        sent: false,
      })
    }
    const client: HttpClient = {
      request: async ({ path, signal }) => {
        signal?.throwIfAborted()
        const container = this.#listener(host, number)
        if (container === undefined) throw unreachable()
        const { http = {} } = container.options.script()
        const script = http[path] ?? http['*'] ?? {}
        await this.#clock.sleep(script.afterMs ?? 0, signal)
        return { status: script.status ?? 200, headers: { ...script.headers }, ...bodyOf(script) }
      },
      upgrade: () => Promise.reject(unreachable()),
      close: () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }
    return client
  }

  readonly connectGrpc: GrpcConnect = ({ targets }) => {
    const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(targets[0] ?? '') ?? []
    const unary = async (): Promise<Uint8Array> => {
      const container = this.#listener(host, Number(port))
      if (container === undefined) throw new GrpcError('unavailable', 'connection refused', { sent: false })
      return Uint8Array.of(statusField, container.options.script().grpcHealth ?? 1)
    }
    const channel: GrpcChannel = {
      unary,
      stream: () => {
        throw new GrpcError('unimplemented', 'simulated pods support unary calls only', { sent: false })
      },
      [Symbol.asyncDispose]: async () => undefined,
    }
    return channel
  }

  /** The container that listens on this address and port. */
  #listener(host: string, port: number): SimulatedContainer | undefined {
    const sandbox = this.#find(host)
    if (sandbox?.isReady !== true) return undefined
    const running = [...sandbox.containers.values()].filter(container => container.isRunning)
    return (
      running.find(({ options }) => options.script().ports?.[port] !== undefined) ??
      running.find(({ options }) => options.script().ports === undefined)
    )
  }
}

/** Protobuf tag of field 1 as a varint. */
const statusField = 8

function bodyOf({ body = '' }: HttpScript): { readonly body: AsyncIterable<Uint8Array>; discard(): void } {
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    if (body !== '') yield new TextEncoder().encode(body)
  }
  return { body: pieces(), discard: () => undefined }
}

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
}
