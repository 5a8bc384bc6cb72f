import { hopByHopHeaders } from '#/base/hop-by-hop-headers.ts'
import { messageOf } from '#/base/message-of.ts'
import type { HttpTransport } from '#/client/http.ts'
import type { HttpClientResponse, HttpUpgraded } from '#/platform/http-client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { answerText } from './answer.ts'

/** `host` becomes that of the API server. */
const connectionHeaders: ReadonlySet<string> = new Set([...hopByHopHeaders, 'host'])

export interface PassOnOptions {
  readonly transport: Pick<HttpTransport, 'forward' | 'upgrade'>
  /** Path and query. */
  readonly target: string
  readonly onError: (text: string) => void
}

/** Sends a request to the API server as the user, and its response to the client. Never rejects. */
export async function passOn(
  exchange: HttpExchange,
  { transport, target, onError }: PassOnOptions,
): Promise<void> {
  const gone = new AbortController()
  exchange.onClose(() => gone.abort(new Error('the client has disconnected')))
  try {
    const { upgrade } = exchange.headers
    if (exchange.hijack && upgrade) await passOnUpgrade(exchange, { transport, target, protocol: upgrade })
    else await passOnRequest(exchange, { transport, target, signal: gone.signal })
  } catch (error) {
    if (exchange.closed) return
    onError(`Error while proxying request: ${messageOf(error)}`)
    // A response that has begun cannot become an error.
    if (error instanceof BrokenResponse) exchange.abort()
    else answerText(exchange, 500, messageOf(error))
  }
}

/** The server has ended a response in the middle. */
class BrokenResponse extends Error {}

type RequestHeaders = Readonly<Record<string, string | readonly string[]>>

function requestHeaders(exchange: HttpExchange): RequestHeaders {
  const named = (exchange.headers['connection'] ?? '').toLowerCase().split(/[\s,]+/)
  const kept = Object.keys(exchange.headers).filter(
    name => !connectionHeaders.has(name) && !named.includes(name),
  )
  const headers = Object.fromEntries(kept.map(name => [name, exchange.headerValues(name)]))
  const forwarded = [...exchange.headerValues('x-forwarded-for'), exchange.connection.address].filter(Boolean)
  return { ...headers, ...(forwarded.length > 0 && { 'x-forwarded-for': forwarded.join(', ') }) }
}

async function passOnRequest(
  exchange: HttpExchange,
  {
    transport,
    target,
    signal,
  }: Pick<PassOnOptions, 'transport' | 'target'> & { readonly signal: AbortSignal },
): Promise<void> {
  const { 'content-length': length, 'transfer-encoding': encoding } = exchange.headers
  const hasBody = encoding !== undefined || (length !== undefined && length !== '0')
  const response = await transport.forward({
    method: exchange.method,
    path: target,
    headers: requestHeaders(exchange),
    signal,
    keepContentEncoding: true,
    ...(hasBody && { body: exchange.body() }),
  })
  await sendResponse(exchange, response)
}

async function sendResponse(
  exchange: HttpExchange,
  { status, headers, setCookies = [], body }: HttpClientResponse,
): Promise<void> {
  const kept = Object.entries(headers).filter(
    ([name]) => !connectionHeaders.has(name) && name !== 'set-cookie',
  )
  exchange.respond(status, {
    ...(Object.fromEntries(kept) as Record<string, string>),
    ...(setCookies.length > 0 && { 'set-cookie': setCookies }),
  })
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

async function passOnUpgrade(
  exchange: HttpExchange,
  {
    transport,
    target,
    protocol,
  }: Pick<PassOnOptions, 'transport' | 'target'> & { readonly protocol: string },
): Promise<void> {
  const headers = { ...requestHeaders(exchange), upgrade: protocol }
  const upgrade = await transport.upgrade({ method: exchange.method, path: target, headers })
  if (upgrade.type === 'refused') return sendResponse(exchange, upgrade.response)
  join(exchange, upgrade)
}

/** Copies between the client and the server in both directions. */
function join(exchange: HttpExchange, { headers, connection: server, head: serverHead }: HttpUpgraded): void {
  if (exchange.closed || !exchange.hijack) return void server.destroy()
  const { connection: client, head: clientHead } = exchange.hijack()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
  client.write(serverHead)
  server.write(clientHead)
  for (const stream of [client, server]) stream.on('error', () => undefined)
  client.once('close', () => server.destroy())
  server.once('close', () => client.destroy())
  client.pipe(server)
  server.pipe(client)
}
