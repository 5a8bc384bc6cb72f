import { endSession, session } from './session.ts'
import { ApiError, apiErrorOfBody } from './api-error.ts'

export interface ApiRequest {
  readonly method?: string
  readonly accept?: string
  readonly contentType?: string
  readonly body?: string
  readonly signal?: AbortSignal | undefined
}

/** The console's server forwards this path to the API server with the rights of the user. */
const apiServerPath = '/api-server'

/** Sends a request to the API server. Throws ApiError unless it succeeds. */
export async function requestApi(path: string, request: ApiRequest = {}): Promise<Response> {
  return requestConsole(apiServerPath + withoutIndentation(path), request)
}

export async function getJson<T>(path: string, request: ApiRequest = {}): Promise<T> {
  const response = await requestApi(path, request)
  return (await response.json()) as T
}

export async function sendJson<T>(path: string, body: unknown, request: ApiRequest = {}): Promise<T> {
  return getJson<T>(path, {
    method: 'POST',
    contentType: 'application/json',
    ...request,
    body: JSON.stringify(body),
  })
}

/** Sends a request to a path of the console's server. Throws ApiError unless it succeeds. */
export async function requestConsole(
  path: string,
  { method = 'GET', accept = 'application/json', contentType, body, signal }: ApiRequest = {},
): Promise<Response> {
  const headers = new Headers({
    Accept: accept,
    Authorization: `Bearer ${session.peek()?.sessionToken ?? ''}`,
  })
  if (contentType !== undefined) headers.set('Content-Type', contentType)
  const response = await fetch(path, { method, headers, body: body ?? null, signal: signal ?? null })
  if (response.status === 401) endSession()
  if (!response.ok) throw apiErrorOfBody(response.status, await response.text())
  return response
}

/** Addresses and subprotocols of a WebSocket to the API server: a browser cannot set the header there. */
export function openApiWebSocket(path: string, protocols: readonly string[]): WebSocket {
  const token = session.peek()?.sessionToken
  if (token === undefined) throw new ApiError({ status: 401, message: 'The session has ended.' })
  const url = new URL(apiServerPath + path, location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  return new WebSocket(url, [...protocols, bearerProtocol(token)])
}

export function bearerProtocol(token: string): string {
  const text = btoa(String.fromCharCode(...new TextEncoder().encode(token)))
  const base64url = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  return `base64url.bearer.authorization.k8ts.io.${base64url}`
}

/** API servers indent JSON for browsers unless asked not to, which would break lines of watches, too. */
export function withoutIndentation(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}pretty=false`
}
