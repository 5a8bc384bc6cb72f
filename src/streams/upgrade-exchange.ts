/**
 * What is needed of an HTTP request to take its connection over for another protocol: an `HttpExchange` has it all.
 */
import type { HttpExchange, HttpHeaders } from '#/platform/http.ts'

export type UpgradeExchange = Pick<
  HttpExchange,
  'method' | 'headers' | 'headerValues' | 'respond' | 'end' | 'hijack'
>

/** Says no in plain text, as the streaming servers of Kubernetes do. */
export function refuse(
  exchange: UpgradeExchange,
  status: number,
  message: string,
  headers: HttpHeaders = {},
): undefined {
  const body = Buffer.from(`${message}\n`)
  exchange.respond(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'content-length': String(body.length),
    ...headers,
  })
  exchange.end([body])
  return undefined
}
