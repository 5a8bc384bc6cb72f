import { isIP } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { HttpClientError, type HttpClientOptions } from '../../http-client.ts'

const connectTimeoutMs = 30_000

/**
 * How long a silent connection is left alone before the kernel asks whether the other side is still there.
 */
const keepAliveDelayMs = 15_000

export function tlsOptions({ origin, tls = {} }: HttpClientOptions): ConnectionOptions {
  const { hostname } = new URL(origin)
  const serverName = tls.serverName ?? hostname.replace(/^\[(.*)\]$/, '$1')
  return {
    ...(tls.ca !== undefined && { ca: Buffer.from(tls.ca) }),
    ...(tls.cert !== undefined && { cert: Buffer.from(tls.cert) }),
    ...(tls.key !== undefined && { key: Buffer.from(tls.key) }),
    // An address cannot be asked for by name in TLS (RFC 6066); the certificate is checked for it all the
    // same.
    ...(isIP(serverName) ? {} : { servername: serverName }),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
    minVersion: 'TLSv1.2',
  }
}

/** A connection on which HTTP/2 was agreed upon, if the server has it. */
export function connectTls(options: HttpClientOptions, signal: AbortSignal | undefined): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const { hostname, port } = new URL(options.origin)
  const socket = connect({
    ...tlsOptions(options),
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 443),
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveDelayMs)
  const limitMs = options.connectTimeoutMs ?? connectTimeoutMs
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${limitMs} ms`)), limitMs)
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
  socket.once('secureConnect', () => {
    settle()
    resolve(socket)
  })
  const failed = (cause?: Error): void => {
    settle()
    reject(unreachable(options.origin, cause ?? new Error('the server hung up')))
  }
  // Stays for good: a connection that fails while nobody uses it is no reason to end.
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
