import type { HttpExchange } from '#/platform/http.ts'
import type { ConsoleRefusal } from './answers.ts'

type RequestHead = Pick<HttpExchange, 'method' | 'target' | 'headers'>

/**
 * Checks that a request comes from the page itself, or from a user who opens it. Undefined if it does. A name of
 * another host that resolves to this machine (DNS rebinding) would make its site the origin of the console.
 */
export function validateRequestOrigin(
  { method, target, headers }: RequestHead,
  port: number,
): ConsoleRefusal | undefined {
  const { host = '', origin } = headers
  if (!ownHosts(port).includes(host.toLowerCase())) {
    return { reason: 'Forbidden', message: 'the console answers only requests for 127.0.0.1 and localhost' }
  }
  if (origin !== undefined && origin !== `http://${host.toLowerCase()}`) {
    return { reason: 'Forbidden', message: 'the request comes from another origin' }
  }
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return undefined
  const isNavigation =
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    /^\/(?:\?|$)/.test(target)
  // `none`: the user has typed the address. Other ports of this machine are the same site, but another origin.
  if (isNavigation || (site === 'none' && method === 'GET')) return undefined
  return { reason: 'Forbidden', message: 'the request comes from another site' }
}

function ownHosts(port: number): readonly string[] {
  const names = ['127.0.0.1', 'localhost', '[::1]']
  // Browsers omit the port of the scheme.
  return names.flatMap(name => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]))
}
