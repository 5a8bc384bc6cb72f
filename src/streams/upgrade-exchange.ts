/** The part of `HttpExchange` needed to upgrade a connection to a different protocol. */
import type { HttpExchange, HttpHeaders } from '#/platform/http.ts'

export type UpgradeExchange = Pick<
  HttpExchange,
  'method' | 'headers' | 'headerValues' | 'respond' | 'end' | 'hijack'
>

export interface Refusal {
  readonly status: number
  readonly message: string
  readonly headers?: HttpHeaders
}

/** Refuses in plain text, like Kubernetes' streaming servers. */
export function refuse(exchange: UpgradeExchange, { status, message, headers = {} }: Refusal): undefined {
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
