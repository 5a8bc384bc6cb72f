import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { constants, createGunzip } from 'node:zlib'
import { HttpClientError, type HttpClientResponse } from '../../http-client.ts'

export interface Answer {
  readonly stream: Readable
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly setCookies?: readonly string[] | undefined
  readonly keepsEncoding?: boolean | undefined
  /** What to throw when the stream fails. */
  readonly failed: (cause: Error) => Error
  readonly signal: AbortSignal | undefined
  /** Whether the stream ended before the answer did. */
  readonly isCut: () => boolean
  /** Tells the server that no more is wanted. */
  readonly cancel: () => void
}

/** A stream of either protocol as an answer: decompressed, and read only as fast as somebody reads. */
export function answerOf(answer: Answer): HttpClientResponse {
  const { stream, status, setCookies } = answer
  // Until somebody reads, and after, a failure has nobody to tell.
  stream.on('error', () => undefined)
  const isGzip = !answer.keepsEncoding && answer.headers['content-encoding'] === 'gzip'
  const { 'content-encoding': encoding, ...others } = answer.headers
  const headers = isGzip
    ? others
    : { ...others, ...(encoding !== undefined && { 'content-encoding': encoding }) }
  const body = read(answer, isGzip)
  return { status, headers, ...(setCookies && { setCookies }), body, discard: answer.cancel }
}

async function* read(answer: Answer, isGzip: boolean): AsyncGenerator<Uint8Array, void, undefined> {
  const { stream, signal } = answer
  let failure: Error | undefined
  stream.once('error', error => {
    failure = error
  })
  let complete = false
  try {
    for await (const piece of isGzip ? gunzip(stream) : stream) yield piece as Buffer
    if (answer.isCut()) throw failure ?? new Error('the answer was cut off')
    complete = true
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    const error = cause as NodeJS.ErrnoException
    if (failure === undefined && error.code?.startsWith('Z_')) {
      throw new HttpClientError('garbage', `the answer does not decompress: ${error.message}`, {
        cause,
        sent: true,
      })
    }
    throw answer.failed(failure ?? error)
  } finally {
    if (!complete) answer.cancel()
  }
}

/** Gives what has come so far after each piece: a stream of events must not wait for a block to fill up. */
function gunzip(stream: Readable): Readable {
  return pipeline(stream, createGunzip({ flush: constants.Z_SYNC_FLUSH }), () => undefined)
}
