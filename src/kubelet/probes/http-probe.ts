import type { HTTPGetAction, HTTPHeader } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import { HttpClientError, type HttpConnect } from '#/platform/http-client.ts'
import { hostAndPort, networkFailure, rootOf } from './network-failure.ts'
import type { ProbeOutcome } from './run-probe.ts'
import { TimeoutError, withTimeout, type Limits } from './with-timeout.ts'

export interface HttpProbe extends Limits {
  readonly action: HTTPGetAction
  readonly host: string
  readonly port: number
}

const bodyBytesMax = 10 * 1_024

/** Maximum number of requests of one probe, including redirects. */
const requestsMax = 10

/** The response was interrupted, so the probe's result is unknown. */
export class InterruptedResponseError extends Error {
  constructor(message: string, options: ErrorOptions) {
    super(message, options)
    this.name = 'InterruptedResponseError'
  }
}

/** A status from 200 to 399 is a success. Redirects are followed only to the same host. */
export async function probeHttp(connect: HttpConnect, probe: HttpProbe): Promise<ProbeOutcome> {
  const { action, host, port, signal } = probe
  const scheme = (action.scheme || 'http').toLowerCase()
  const start = new URL(`${scheme}://${hostAndPort(host, port)}`)
  const path = requestPath(action.path ?? '')
  let place: Place = { url: start, path, text: `${originOf(start)}${path}` }
  try {
    return await withTimeout(probe, async limit => {
      let headers = requestHeaders(action.httpHeaders ?? [], 'probe')
      for (let count = 1; ; count++) {
        const answer = await send(connect, { ...place, headers, signal: limit })
        const next = redirectTarget(place.url, answer)
        if (next === undefined || next.hostname !== start.hostname) return outcomeOf(answer)
        if (count >= requestsMax) throw new RedirectError()
        // The probe's Host header applies until a redirect names a host.
        if (URL.canParse(answer.location ?? '')) headers = withoutHost(headers)
        place = { url: next, path: `${next.pathname}${next.search}`, text: next.href }
      }
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof InterruptedResponseError) throw error
    return { type: 'failure', output: `Get ${quote(place.text)}: ${failureText(error, host, port)}` }
  }
}

interface Place {
  readonly url: URL
  /** Includes the query. */
  readonly path: string
  /** URL in messages. */
  readonly text: string
}

class RedirectError extends Error {}

interface ProbeResponse {
  readonly status: number
  readonly location?: string
  readonly body: string
}

interface OutgoingRequest extends Place {
  readonly headers: RequestHeaders
  readonly signal: AbortSignal
}

async function send(
  connect: HttpConnect,
  { url, path, headers, signal }: OutgoingRequest,
): Promise<ProbeResponse> {
  await using client = connect({ origin: originOf(url), tls: { insecureSkipVerify: true } })
  // Keep-alive is useless for a single request; HTTP/2 does not allow the header.
  const closing: RequestHeaders = url.protocol === 'http:' ? { connection: 'close' } : {}
  const response = await client.request({ method: 'GET', path, headers: { ...closing, ...headers }, signal })
  const { status, headers: received } = response
  const parts: Uint8Array[] = []
  let size = 0
  try {
    for await (const part of response.body) {
      parts.push(part)
      size += part.length
      if (size >= bodyBytesMax) break
    }
  } catch (error) {
    throw new InterruptedResponseError(brokenText(error), { cause: error })
  }
  const body = Buffer.concat(parts).subarray(0, bodyBytesMax).toString()
  return { status, body, ...(received.location !== undefined && { location: received.location }) }
}

function withoutHost(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'host'))
}

/** Undefined if the response is not a redirect. */
function redirectTarget(from: URL, { status, location }: ProbeResponse): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || !location) return undefined
  const next = URL.parse(location, from)
  return next?.protocol === 'http:' || next?.protocol === 'https:' ? next : undefined
}

function outcomeOf({ status, body }: ProbeResponse): ProbeOutcome {
  if (status < 200 || status >= 400) {
    return { type: 'failure', output: `HTTP probe failed with statuscode: ${status}` }
  }
  if (status < 300) return { type: 'success', output: body }
  return { type: 'warning', output: `Probe terminated redirects, Response body: ${body}` }
}

function failureText(error: unknown, host: string, port: number): string {
  if (error instanceof TimeoutError)
    return `${error.message} (Client.Timeout exceeded while awaiting headers)`
  if (error instanceof RedirectError) return `stopped after ${requestsMax} redirects`
  const { code = '', message } = rootOf(error)
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return 'http: server gave HTTP response to HTTPS client'
  }
  if (error instanceof HttpClientError && error.reason === 'invalid-response') {
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response (${message})`
  }
  return networkFailure(error, host, port)
}

function brokenText(error: unknown): string {
  if (error instanceof TimeoutError) {
    return `${error.message} (Client.Timeout or context cancellation while reading body)`
  }
  return error instanceof HttpClientError && error.reason === 'interrupted'
    ? 'unexpected EOF'
    : rootOf(error).message
}

/** Always includes the port, even the default one. */
function originOf({ protocol, hostname, port }: URL): string {
  return `${protocol}//${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

type RequestHeaders = Readonly<Record<string, string | readonly string[]>>

/** Kubernetes version in the user agent. */
const version = '1.36'

/** Names are lowercase. `purpose` is part of the user agent: `kube-probe/1.36`. */
export function requestHeaders(given: readonly HTTPHeader[], purpose: string): RequestHeaders {
  const headers: Record<string, string | string[]> = Object.create(null)
  for (const { name, value } of given) {
    const key = name.toLowerCase()
    const before = headers[key]
    headers[key] = before === undefined ? value : [before, value].flat()
  }
  headers['user-agent'] ??= `kube-${purpose}/${version}`
  headers['accept'] ??= '*/*'
  if (headers['accept'] === '') delete headers['accept']
  if (headers['host'] === '') delete headers['host']
  else if (Array.isArray(headers['host'])) headers['host'] = headers['host'][0] ?? ''
  return headers
}

/** A valid request path with query for any input. A host in it is dropped. */
export function requestPath(path: string): string {
  const local = path.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, '').replace(/#.*$/s, '')
  const rooted = local.startsWith('/') ? local : `/${local}`
  return rooted
    .toWellFormed()
    .replaceAll(/[^!$&'()*+,\-./0-9:;=?@A-Z_a-z~%]|%(?![0-9a-fA-F]{2})/gu, encodeURIComponent)
}
