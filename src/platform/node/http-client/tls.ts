import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect, createSecureContext, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { HttpClientError, type HttpClientOptions } from '../../http-client.ts'
import { requestTunnel } from './proxy.ts'

export const connectTimeoutMs = 30_000

/** Idle time before the kernel sends TCP keepalive probes. */
const keepAliveDelayMs = 15_000

/** Parsing certificates and keys takes as long as a handshake, so it is done once for all connections of a client. */
const cachedOptions = new WeakMap<HttpClientOptions, ConnectionOptions>()

export function tlsOptions(options: HttpClientOptions): ConnectionOptions {
  return cachedOptions.getOrInsertComputed(options, readTlsOptions)
}

function readTlsOptions({ origin, tls = {} }: HttpClientOptions): ConnectionOptions {
  const { hostname } = new URL(origin)
  const serverName = tls.serverName ?? hostname.replace(/^\[(.*)\]$/, '$1')
  const secureContext = createSecureContext({
    // Every given certificate is a trust anchor, not only self-signed ones: a caBundle may contain the serving
    // certificate itself, as that of envtest's webhooks does.
    ...(tls.ca !== undefined && { ca: Buffer.from(tls.ca), allowPartialTrustChain: true }),
    ...(tls.cert !== undefined && { cert: Buffer.from(tls.cert) }),
    ...(tls.key !== undefined && { key: Buffer.from(tls.key) }),
    minVersion: 'TLSv1.2',
  })
  return {
    secureContext,
    ...serverNameOf(serverName),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
  }
}

/** SNI does not allow IP addresses (RFC 6066); the certificate is verified against the address nevertheless. */
function serverNameOf(host: string): { readonly servername?: string } {
  return isIP(host) ? {} : { servername: host }
}

/** A connection with ALPN for HTTP/2 and HTTP/1.1. */
export async function connectTls(
  options: HttpClientOptions,
  signal: AbortSignal | undefined,
): Promise<TLSSocket> {
  const secure = { ...tlsOptions(options), ...endpointOf(new URL(options.origin)) }
  const tunnel = await connectTunnel(options, signal)
  const socket = connect({ ...secure, ...tunnel, ALPNProtocols: ['h2', 'http/1.1'] })
  return connected(socket, 'secureConnect', { options, signal })
}

/** A connection for HTTP/1.1, with TLS for an `https` origin. */
export async function connectHttp1(
  options: HttpClientOptions,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  const origin = new URL(options.origin)
  const tunnel = await connectTunnel(options, signal)
  if (origin.protocol === 'http:') {
    return tunnel.socket ?? connected(connectPlain(endpointOf(origin)), 'connect', { options, signal })
  }
  const secure = { ...tlsOptions(options), ...endpointOf(origin), ...tunnel }
  return connected(connect({ ...secure, ALPNProtocols: ['http/1.1'] }), 'secureConnect', { options, signal })
}

/** A connection to the origin through the proxy, if there is one. */
async function connectTunnel(
  options: HttpClientOptions,
  signal: AbortSignal | undefined,
): Promise<{ readonly socket?: Socket }> {
  if (options.proxy === undefined) return {}
  const proxy = new URL(options.proxy)
  const endpoint = endpointOf(proxy)
  const socket =
    proxy.protocol === 'https:'
      ? await connected(connect({ ...endpoint, ...serverNameOf(endpoint.host) }), 'secureConnect', {
          options,
          signal,
        })
      : await connected(connectPlain(endpoint), 'connect', { options, signal })
  const limitMs = options.connectTimeoutMs ?? connectTimeoutMs
  const timer = setTimeout(() => socket.destroy(new Error(`proxy timed out after ${limitMs} ms`)), limitMs)
  const abort = (): void => void socket.destroy()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await requestTunnel(socket, proxy, endpointOf(new URL(options.origin)))
    signal?.throwIfAborted()
    return { socket }
  } catch (error) {
    socket.destroy()
    throw signal?.aborted ? signal.reason : unreachable(options.origin, error as Error)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

export function endpointOf({ hostname, port, protocol }: URL): {
  readonly host: string
  readonly port: number
} {
  const usual = usualPorts[protocol] ?? 1080
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usual : Number(port) }
}

interface Connecting {
  readonly options: HttpClientOptions
  readonly signal: AbortSignal | undefined
}

function connected<T extends Socket>(
  socket: T,
  event: 'connect' | 'secureConnect',
  { options, signal }: Connecting,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveDelayMs)
  const limitMs = options.connectTimeoutMs ?? connectTimeoutMs
  const timer = setTimeout(
    () => socket.destroy(new Error(`connection timed out after ${limitMs} ms`)),
    limitMs,
  )
  const abort = (): void => {
    socket.destroy()
    reject(signal?.reason)
  }
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  const settle = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
  socket.once(event, () => {
    settle()
    resolve(socket)
  })
  const failed = (cause?: Error): void => {
    settle()
    reject(unreachable(options.origin, cause ?? new Error('the server closed the connection')))
  }
  // Never removed: an error on an idle connection must not end the process.
  socket.on('error', failed)
  socket.once('close', () => failed())
  return promise
}

export function unreachable(origin: string, cause: Error): HttpClientError {
  return new HttpClientError('unreachable', `cannot connect to ${origin}: ${cause.message}`, {
    cause,
    sent: false,
  })
}
