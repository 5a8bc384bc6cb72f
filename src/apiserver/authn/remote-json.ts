/** Questions to servers that the cluster does not own: one request, one JSON value, bounds on both. */
import { parseJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'

export interface RemoteJsonOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  readonly url: string
  readonly tls?: HttpClientTls
  /** Posted as JSON; without it the value is got. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

/** What nobody who answers in good faith needs more of. */
const answerBytesMax = 1024 * 1024

/** Somebody answered, but not what was asked for. */
export class RemoteAnswerError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`the answer has status ${status}`)
    this.name = 'RemoteAnswerError'
    this.status = status
  }
}

/** Rejects with HttpClientError, RemoteAnswerError, DecodeError or the error of the time that is over. */
export async function askRemote(options: RemoteJsonOptions): Promise<JsonValue> {
  const { clock, connectHttp, url, tls, body, headers, timeoutMs } = options
  const { origin, pathname, search } = new URL(url)
  const abortion = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => abortion.abort(new Error(`no answer within ${timeoutMs} ms`)))
  const client = connectHttp({ origin, ...(tls && { tls }), connectTimeoutMs: timeoutMs })
  try {
    const response = await client.request({
      method: body === undefined ? 'GET' : 'POST',
      path: `${pathname}${search}`,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      signal: abortion.signal,
    })
    if (response.status < 200 || response.status > 299) {
      response.discard()
      throw new RemoteAnswerError(response.status)
    }
    return parseJson(await readAll(response.body))
  } finally {
    timer.cancel()
    await client[Symbol.asyncDispose]()
  }
}

async function readAll(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const read: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes > answerBytesMax) throw new Error(`the answer is larger than ${answerBytesMax} bytes`)
    read.push(piece)
  }
  return Buffer.concat(read)
}
