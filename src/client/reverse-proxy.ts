/**
 * Passes requests of HTTP clients on to an API server, with the credentials of a connection: for `kubectl proxy` and
 * the console. Responses are streamed, and connections may be upgraded.
 */
import { LinkedAbort, offAbort, onAbort } from '#/base/abort.ts'
import { hopByHopHeaders } from '#/base/hop-by-hop-headers.ts'
import { messageOf } from '#/base/message-of.ts'
import type { HttpClientResponse, HttpUpgraded } from '#/platform/http-client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { HttpTransport } from './http.ts'

/** `host` becomes that of the API server. */
const connectionHeaders: ReadonlySet<string> = new Set([...hopByHopHeaders, 'host'])

/** Lower-case names. */
export type ForwardedHeaders = Readonly<Record<string, string | readonly string[]>>

export interface ReverseProxyOptions {
  readonly transport: Pick<HttpTransport, 'forward' | 'upgrade'>
  /** Path and query. */
  readonly target: string
  /** Headers for the API server, from those of the client without those of its connection. Default: all of them. */
  readonly requestHeaders?: (headers: ForwardedHeaders) => ForwardedHeaders
  /** Headers for the client, from those of the API server. Default: all of them. */
  readonly responseHeaders?: (headers: ForwardedHeaders) => ForwardedHeaders
  /** Aborts the request and closes an upgraded connection. */
  readonly signal?: AbortSignal
  /** Answers, unless the response has begun: it is aborted then. */
  readonly onError: (failure: ForwardingFailure) => void
}

export interface ForwardingFailure {
  readonly message: string
  readonly hasBegun: boolean
}

/** Sends a request to the API server as the user, and its response to the client. Never rejects. */
export async function forwardExchange(exchange: HttpExchange, options: ReverseProxyOptions): Promise<void> {
  using aborted = new LinkedAbort(options.signal)
  exchange.onClose(() => aborted.abort(new Error('the client has disconnected')))
  try {
    const { upgrade } = exchange.headers
    if (exchange.hijack && upgrade) await forwardUpgrade(exchange, options, upgrade)
    else await forwardRequest(exchange, options, aborted.signal)
  } catch (error) {
    if (exchange.closed) return
    const hasBegun = error instanceof BrokenResponse
    // A response that has begun cannot become an error.
    if (hasBegun) exchange.abort()
    options.onError({ message: messageOf(error), hasBegun })
  }
}

/** The server has ended a response in the middle. */
class BrokenResponse extends Error {}

function requestHeaders(exchange: HttpExchange, { requestHeaders }: ReverseProxyOptions): ForwardedHeaders {
  const named = (exchange.headers['connection'] ?? '').toLowerCase().split(/[\s,]+/)
  const kept = Object.keys(exchange.headers).filter(
    name => !connectionHeaders.has(name) && !named.includes(name),
  )
  const headers = Object.fromEntries(kept.map(name => [name, exchange.headerValues(name)]))
  const forwarded = [...exchange.headerValues('x-forwarded-for'), exchange.connection.address].filter(Boolean)
  const all = { ...headers, ...(forwarded.length > 0 && { 'x-forwarded-for': forwarded.join(', ') }) }
  return requestHeaders?.(all) ?? all
}

async function forwardRequest(
  exchange: HttpExchange,
  options: ReverseProxyOptions,
  signal: AbortSignal,
): Promise<void> {
  const { 'content-length': length, 'transfer-encoding': encoding } = exchange.headers
  const hasBody = encoding !== undefined || (length !== undefined && length !== '0')
  const response = await options.transport.forward({
    method: exchange.method,
    path: options.target,
    headers: requestHeaders(exchange, options),
    signal,
    keepContentEncoding: true,
    ...(hasBody && { body: exchange.body() }),
  })
  await sendResponse(exchange, options, response)
}

async function sendResponse(
  exchange: HttpExchange,
  { responseHeaders }: ReverseProxyOptions,
  { status, headers, setCookies = [], body }: HttpClientResponse,
): Promise<void> {
  const kept = Object.entries(headers).filter(
    ([name]) => !connectionHeaders.has(name) && name !== 'set-cookie',
  )
  const all = {
    ...(Object.fromEntries(kept) as Record<string, string>),
    ...(setCookies.length > 0 && { 'set-cookie': setCookies }),
  }
  exchange.respond(status, responseHeaders?.(all) ?? all)
  // Watches and logs have no end: the response of a client that is gone must not be read on.
  exchange.allowStall(Infinity)
  try {
    for await (const piece of body) {
      if (!exchange.write([piece])) await exchange.drained()
      if (exchange.closed) return
    }
  } catch (error) {
    throw new BrokenResponse(messageOf(error), { cause: error })
  }
  exchange.end()
}

async function forwardUpgrade(
  exchange: HttpExchange,
  options: ReverseProxyOptions,
  protocol: string,
): Promise<void> {
  const headers = { ...requestHeaders(exchange, options), upgrade: protocol }
  const { transport, target, signal } = options
  const upgrade = await transport.upgrade({ method: exchange.method, path: target, headers })
  if (upgrade.type === 'refused') return sendResponse(exchange, options, upgrade.response)
  join(exchange, upgrade, signal)
}

/** Copies between the client and the server in both directions. */
function join(
  exchange: HttpExchange,
  { headers, connection: server, head: serverHead }: HttpUpgraded,
  signal: AbortSignal | undefined,
): void {
  if (exchange.closed || !exchange.hijack || signal?.aborted) return void server.destroy()
  const { connection: client, head: clientHead } = exchange.hijack()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
  client.write(serverHead)
  server.write(clientHead)
  for (const stream of [client, server]) stream.on('error', () => undefined)
  const revoke = (): void => {
    client.destroy()
    server.destroy()
  }
  if (signal !== undefined) onAbort(signal, revoke)
  client.once('close', () => {
    if (signal !== undefined) offAbort(signal, revoke)
    server.destroy()
  })
  server.once('close', () => client.destroy())
  client.pipe(server)
  server.pipe(client)
}
