import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { HttpClientError, type HttpClientResponse } from '../../http-client.ts'

export interface ResponseSource {
  readonly stream: Readable
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly setCookies?: readonly string[] | undefined
  readonly keepContentEncoding?: boolean | undefined
  /** Maps a stream error to the error to throw. */
  readonly failed: (cause: Error) => Error
  readonly signal: AbortSignal | undefined
  /** True if the stream ended before the response was complete. */
  readonly isCut: () => boolean
  /** Cancels the response at the server. */
  readonly cancel: () => void
}

/** A response of either protocol, decompressed and with backpressure. */
export function responseOf(answer: ResponseSource): HttpClientResponse {
  const { stream, status, setCookies } = answer
  // Avoids an uncaught error while the body is not being read.
  stream.on('error', () => undefined)
  const isGzip = !answer.keepContentEncoding && answer.headers['content-encoding'] === 'gzip'
  const { 'content-encoding': encoding, ...others } = answer.headers
  const headers = isGzip
    ? others
    : { ...others, ...(encoding !== undefined && { 'content-encoding': encoding }) }
  const body = read(answer, isGzip)
  return { status, headers, ...(setCookies && { setCookies }), body, discard: answer.cancel }
}

async function* read(answer: ResponseSource, isGzip: boolean): AsyncGenerator<Uint8Array, void, undefined> {
  const { stream, signal } = answer
  let failure: Error | undefined
  stream.once('error', error => {
    failure = error
  })
  let complete = false
  try {
    for await (const piece of isGzip ? gunzip(stream) : stream) yield piece as Buffer
    if (answer.isCut()) throw failure ?? new Error('the response ended prematurely')
    complete = true
  } catch (cause) {
    if (signal?.aborted) throw signal.reason
    const error = cause as NodeJS.ErrnoException
    if (failure === undefined && error.code?.startsWith('Z_')) {
      throw new HttpClientError('invalid-response', `cannot decompress the response: ${error.message}`, {
        cause,
        sent: true,
      })
    }
    throw answer.failed(failure ?? error)
  } finally {
    if (!complete) answer.cancel()
  }
}

/** Flushes after each piece: watch events must not wait for a full block. */
function gunzip(stream: Readable): Readable {
  const { constants, createGunzip } = process.getBuiltinModule('node:zlib')
  return pipeline(stream, createGunzip({ flush: constants.Z_SYNC_FLUSH }), () => undefined)
}
