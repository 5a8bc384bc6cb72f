import { forwardExchange, type ForwardedHeaders } from '#/client/reverse-proxy.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { ConsoleCluster } from '../console-server.ts'
import { dataHeaders, refuse } from './answers.ts'
import { withoutSessionToken } from './session-token.ts'

/**
 * Headers of the page that the API server gets. All others are dropped, among them those that would change the user of
 * the request (`Authorization`, `Impersonate-*`, `X-Remote-*`, `Cookie`) or its origin (`X-Forwarded-*`).
 */
const requestHeaderNames: readonly string[] = [
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-none-match',
  'range',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-version',
  'traceparent',
  'user-agent',
]

/** Headers of the API server, or of a pod behind it, that would act on the origin of the console. */
const droppedResponseHeaders: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'link',
  'location',
  'nel',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'sourcemap',
  'strict-transport-security',
  'www-authenticate',
  'x-sourcemap',
])
const droppedResponseHeader = /^(?:access-control|content-security-policy|origin|permissions-policy)/

export interface ForwardOptions {
  readonly cluster: Pick<ConsoleCluster, 'transport'>
  /** Ends the request together with the session. */
  readonly signal: AbortSignal
}

/** `/api-server/PATH`, for all methods and with WebSocket upgrades. */
export async function forwardToApiServer(
  exchange: HttpExchange,
  { cluster: { transport }, signal }: ForwardOptions,
): Promise<void> {
  const target = exchange.target.slice('/api-server'.length)
  if (!isApiServerPath(target)) {
    return refuse(exchange, { reason: 'BadRequest', message: 'the path is not normalized' })
  }
  const { upgrade } = exchange.headers
  if (upgrade !== undefined && upgrade.toLowerCase() !== 'websocket') {
    return refuse(exchange, { reason: 'BadRequest', message: `an upgrade to ${upgrade} is not supported` })
  }
  await forwardExchange(exchange, {
    transport,
    target,
    signal,
    requestHeaders,
    responseHeaders,
    onError({ message, hasBegun }) {
      if (!hasBegun) refuse(exchange, { reason: 'Unavailable', message })
    },
  })
}

/** A path with dot segments would leave that of the server's URL in the kubeconfig. */
export function isApiServerPath(target: string): boolean {
  const [path = ''] = target.split('?')
  return /^\/[\x21-\x7e]*$/.test(target) && !/(?:^|\/|\\|%5c)(?:\.|%2e){1,2}(?:\/|\\|%5c|$)/i.test(path)
}

function requestHeaders(headers: ForwardedHeaders): ForwardedHeaders {
  const kept = requestHeaderNames.flatMap(name => {
    const value = headers[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const protocols = withoutSessionToken([headers['sec-websocket-protocol'] ?? []].flat())
  return {
    ...Object.fromEntries(kept),
    ...(protocols.length > 0 && { 'sec-websocket-protocol': protocols.join(', ') }),
  }
}

function responseHeaders(headers: ForwardedHeaders): ForwardedHeaders {
  const kept = Object.entries(headers).filter(
    ([name]) => !droppedResponseHeaders.has(name) && !droppedResponseHeader.test(name),
  )
  return { ...Object.fromEntries(kept), ...dataHeaders }
}
