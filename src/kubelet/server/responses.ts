import type { HttpExchange } from '#/platform/http.ts'

/** Complete responses. */
export function respondText(exchange: HttpExchange, status: number, text: string): void {
  respondBytes(exchange, { status, mediaType: 'text/plain; charset=utf-8', bytes: Buffer.from(text) })
}

export function respondJson(exchange: HttpExchange, value: unknown): void {
  const bytes = Buffer.from(JSON.stringify(value))
  respondBytes(exchange, { status: 200, mediaType: 'application/json', bytes })
}

export interface CompleteResponse {
  readonly status: number
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export function respondBytes(exchange: HttpExchange, { status, mediaType, bytes }: CompleteResponse): void {
  exchange.respond(status, {
    'content-type': mediaType,
    'content-length': String(bytes.length),
    'x-content-type-options': 'nosniff',
  })
  exchange.end(exchange.method === 'HEAD' ? [] : [bytes])
}

/** Maximum pause of a reading client: a user behind the API server may page through the output. */
const stallMsMax = 4 * 3_600_000

/** Streams a response at the client's reading speed. The source is stopped when the client disconnects. */
export async function respondStream(
  exchange: HttpExchange,
  mediaType: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  exchange.allowStall(stallMsMax)
  exchange.respond(200, { 'content-type': mediaType, 'x-content-type-options': 'nosniff' })
  try {
    for await (const piece of pieces) {
      if (exchange.closed) return
      if (!exchange.write([piece])) await exchange.drained()
    }
  } catch (error) {
    // Aborts the connection, because a truncated response must not look complete.
    exchange.abort()
    throw error
  }
  exchange.end()
}
