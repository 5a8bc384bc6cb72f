/** Calls an external server once and parses its JSON response, with bounds on time and size. */
import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { RemoteServer } from '../remote-server.ts'

export interface RequestJsonOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  readonly url: string
  readonly tls?: HttpClientTls
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** Maximum response size. */
const answerBytesMax = 1024 * 1024

/** The server responded with a status other than 2xx. */
export class HttpStatusError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`unexpected status ${status}`)
    this.name = 'RemoteAnswerError'
    this.status = status
  }
}

/** Rejects with HttpClientError, RemoteAnswerError, DecodeError or the timeout error. */
export async function requestJson(options: RequestJsonOptions): Promise<JsonValue> {
  const { clock, connectHttp, url, tls, body, headers, timeoutMs } = options
  const { origin, pathname, search } = new URL(url)
  await using server = new RemoteServer({
    clock,
    connectHttp,
    origin,
    answerBytesMax,
    ...(tls && { tls }),
  })
  const { status, bytes } = await server.request({
    path: `${pathname}${search}`,
    timeoutMs,
    ...(headers && { headers }),
    ...(body && { body: Buffer.from(JSON.stringify(body)) }),
  })
  if (status < 200 || status > 299) throw new HttpStatusError(status)
  return parseJson(bytes)
}
