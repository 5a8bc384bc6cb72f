/** A reverse proxy on loopback with backends that a test controls. */
import { execFileSync } from 'node:child_process'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { HttpProxy } from '#/http-proxy/http-proxy.ts'
import type {
  Backend,
  ProxyConfiguration,
  ProxyListener,
  ProxyRoute,
  VirtualHost,
} from '#/http-proxy/proxy-configuration.ts'
import type { ProxyLimits } from '#/http-proxy/proxy-limits.ts'
import { nodePlatform, nodeStreamProtocols } from '#/platform/node.ts'

export const loopback = '127.0.0.1'

export interface TestProxy {
  readonly proxy: HttpProxy
  /** The lines of the access log. */
  readonly accessLog: string[]
  /** Of the only listener. */
  readonly port: number
}

export async function startProxy(
  t: TestContext,
  configuration: ProxyConfiguration,
  limits: Partial<ProxyLimits> = {},
): Promise<TestProxy> {
  const accessLog: string[] = []
  const log = nodePlatform({ log: { level: 'error', format: 'text' } })
  const quiet = { ...log.log, warn: () => undefined, error: () => undefined }
  const proxy = new HttpProxy({
    platform: { ...log, log: quiet },
    protocols: nodeStreamProtocols(),
    limits,
    writeAccessLog: text => accessLog.push(...text.trimEnd().split('\n')),
  })
  await proxy.apply(configuration)
  t.after(() => proxy[Symbol.asyncDispose]())
  return { proxy, accessLog, port: proxy.listeners[0]?.port ?? 0 }
}

export interface TestConfiguration {
  readonly backends: readonly Backend[]
  readonly listener?: Partial<ProxyListener>
  readonly route?: Partial<ProxyRoute>
  readonly hosts?: readonly VirtualHost[]
}

/** All requests go to the first backend. */
export function configurationOf({ backends, listener, route, hosts }: TestConfiguration): ProxyConfiguration {
  const only = routeTo(backends[0]?.id ?? '', route)
  return {
    listeners: [
      {
        id: 'test',
        host: loopback,
        port: 0,
        protocol: 'http',
        certificates: [],
        virtualHosts: hosts ?? [{ hostname: '*', wildcard: 'one-label', routes: [only] }],
        ...listener,
      },
    ],
    backends: new Map(backends.map(backend => [backend.id, backend])),
  }
}

export function routeTo(backend: string, changes: Partial<ProxyRoute> = {}): ProxyRoute {
  return {
    id: `route/${backend}`,
    match: { path: { type: 'prefix', value: '/' }, headers: [], queryParameters: [] },
    filters: [],
    backends: [{ backend, weight: 1, filters: [] }],
    timeouts: {},
    ...changes,
  }
}

export function backendAt(ports: readonly number[], changes: Partial<Backend> = {}): Backend {
  const endpoints = ports.map(port => ({ address: loopback, port }))
  return { id: 'default/web:80', protocol: 'http1', endpoints, hasClientAffinity: false, ...changes }
}

/** A server of Node, which is not the code under test. */
export async function startBackend(t: TestContext, onRequest: RequestListener): Promise<number> {
  return listen(t, createHttpServer({ keepAliveTimeout: 60_000 }, onRequest))
}

/** A server of raw connections. */
export async function startRawBackend(
  t: TestContext,
  onConnection: (socket: Socket) => void,
): Promise<number> {
  return listen(
    t,
    createServer({ allowHalfOpen: true }, socket => {
      socket.on('error', () => undefined)
      onConnection(socket)
    }),
  )
}

export async function listen(t: TestContext, server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.listen(0, loopback)
  await once(server, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, loopback)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Sends bytes and returns everything that arrives until the proxy closes the connection. */
export async function exchangeRaw(port: number, text: string, localAddress = loopback): Promise<string> {
  const socket = connect({ port, host: loopback, localAddress })
  let received = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (received += piece))
  socket.on('error', () => undefined)
  socket.write(text, 'latin1')
  await new Promise(resolve => socket.once('close', resolve))
  return received
}

/** A raw connection of a client, from which parts of the answer can be awaited. */
export class RawClient {
  readonly socket: Socket
  received = ''

  constructor(port: number) {
    this.socket = connect({ port, host: loopback })
    this.socket.setEncoding('latin1').on('data', (piece: string) => (this.received += piece))
    this.socket.on('error', () => undefined)
  }

  send(text: string): void {
    this.socket.write(text, 'latin1')
  }

  /** Waits until the text has arrived; takes it and everything before it. */
  async until(text: string): Promise<string> {
    for (;;) {
      const end = this.received.indexOf(text)
      if (end !== -1) {
        const taken = this.received.slice(0, end + text.length)
        this.received = this.received.slice(end + text.length)
        return taken
      }
      if (this.socket.closed) throw new Error(`closed after: ${this.received}`)
      await new Promise<void>(resolve => {
        this.socket.once('data', () => resolve())
        this.socket.once('close', () => resolve())
      })
    }
  }
}

/** A self-signed certificate for these names. */
export function selfSigned(...names: readonly string[]): { readonly cert: string; readonly key: string } {
  const alternatives = names.map(name => `DNS:${name}`).join(',')
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout - -out -'
  const subject = ['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${alternatives}`]
  const pem = execFileSync('openssl', [...words.split(' '), ...subject], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [, key = '', cert = ''] =
    /(-----BEGIN PRIVATE KEY-----[^]*?-----END PRIVATE KEY-----\n)([^]*)/.exec(pem) ?? []
  return { cert, key }
}
