/** Sends the 101 response and hands the connection over to the upgraded protocol. */
import type { UpgradeBody } from '#/api/transport.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { ApiResponse } from '../request.ts'

export interface UpgradeReply {
  readonly exchange: HttpExchange
  readonly response: ApiResponse
  readonly body: UpgradeBody
  /** Ends the upgraded connection. */
  readonly signal: AbortSignal
}

/** Resolves when the connection is closed. */
export async function sendUpgrade({ exchange, response, body, signal }: UpgradeReply): Promise<void> {
  if (exchange.closed || exchange.hijack === undefined) return body.discard()
  const { connection, head } = exchange.hijack()
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

/** Prevents header injection through line breaks. */
function fit(value: string): string {
  return value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
}
