/** The answer after which a connection is no longer one of HTTP: its head, then whatever the other protocol says. */
import type { UpgradeBody } from '#/api/transport.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { ApiResponse } from '../request.ts'

export interface UpgradeReply {
  readonly exchange: HttpExchange
  readonly response: ApiResponse
  readonly body: UpgradeBody
  /** Ends what the connection is used for. */
  readonly signal: AbortSignal
}

/** Resolves when the connection is closed. */
export async function sendUpgrade({ exchange, response, body, signal }: UpgradeReply): Promise<void> {
  if (exchange.closed || exchange.takeOver === undefined) return body.discard()
  const { connection, head } = exchange.takeOver()
  connection.write(headOf(response))
  try {
    await body.serve({ connection, head, signal })
  } finally {
    connection.destroy()
  }
}

function headOf({ status, headers = {} }: ApiResponse): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map(each => `${name}: ${fit(each)}\r\n`),
  )
  return `HTTP/1.1 ${status} Switching Protocols\r\n${lines.join('')}\r\n`
}

/** A line break would begin another header, or end them. */
function fit(value: string): string {
  return value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
}
