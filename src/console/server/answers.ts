import type { HttpExchange, HttpHeaders } from '#/platform/http.ts'

/** Headers of all answers. Other sites can neither embed the console nor read anything of it. */
const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Headers of everything that is not the page: whatever its content, a browser runs nothing in it. */
export const dataHeaders = {
  ...commonHeaders,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cache-control': 'no-store',
} as const

/** Headers of the page. Libraries that add style elements give them the nonce. */
export function pageHeaders(styleNonce: string): HttpHeaders {
  const policy = [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${styleNonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `font-src 'self'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ]
  return {
    ...commonHeaders,
    'content-security-policy': policy.join('; '),
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'cache-control': 'no-store',
  }
}

export function answerJson(exchange: HttpExchange, status: number, value: object): void {
  const body = Buffer.from(JSON.stringify(value))
  exchange.respond(status, {
    ...dataHeaders,
    'content-type': 'application/json',
    'content-length': String(body.length),
  })
  exchange.end(exchange.method === 'HEAD' ? [] : [body])
}

export type RefusalReason =
  | 'BadRequest'
  | 'Forbidden'
  | 'MethodNotAllowed'
  | 'NoSession'
  | 'NotFound'
  | 'TooManyRequests'
  | 'Unavailable'

export interface ConsoleRefusal {
  readonly reason: RefusalReason
  readonly message: string
}

const statuses: Readonly<Record<RefusalReason, number>> = {
  BadRequest: 400,
  Forbidden: 403,
  MethodNotAllowed: 405,
  NoSession: 401,
  NotFound: 404,
  TooManyRequests: 429,
  Unavailable: 503,
}

/** A refusal of the console itself. Those of the API server are a `Status`. */
export function refuse(exchange: HttpExchange, { reason, message }: ConsoleRefusal): void {
  answerJson(exchange, statuses[reason], { reason, message })
}
