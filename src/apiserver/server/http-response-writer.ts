/**
 * Sends a response to an HTTP client: compressed if accepted, with backpressure, and visibly aborted if
 * incomplete.
 */
import { createGzip, type Gzip } from 'node:zlib'
import { internalError, isApiError, tooManyRequests } from '#/api/errors.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Random } from '#/platform/platform.ts'
import type { ApiResponse, StreamBody, ValueBody } from '../request.ts'
import type { HttpRequest } from './http-request.ts'
import type { LargeResponses } from './large-responses.ts'

export interface HttpResponseWriterOptions {
  readonly exchange: HttpExchange
  readonly request: HttpRequest
  readonly largeResponses: LargeResponses
  readonly random: Random
}

export class HttpResponseWriter {
  readonly #exchange: HttpExchange
  readonly #request: HttpRequest
  readonly #largeResponses: LargeResponses
  readonly #random: Random
  #hasBegun = false

  constructor({ exchange, request, largeResponses, random }: HttpResponseWriterOptions) {
    this.#exchange = exchange
    this.#request = request
    this.#largeResponses = largeResponses
    this.#random = random
  }

  /** Returns undefined if the response was sent synchronously, as most are. */
  send(response: SentResponse): Promise<void> | undefined {
    if (response.body === undefined) {
      this.#begin(response, noContent.has(response.status) ? {} : { 'content-length': '0' })
      this.#exchange.end()
      return undefined
    }
    return response.body.type === 'value'
      ? this.#sendValue(response, response.body)
      : this.#sendStream(response, response.body)
  }

  /** Last resort: sends an error without details, or aborts the response if it has begun. */
  fail(error: unknown): void {
    if (this.#hasBegun) return this.#exchange.abort()
    const { status, code } = isApiError(error) ? error : unexpected
    const bytes = Buffer.from(`${JSON.stringify(status)}\n`)
    const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) }
    try {
      this.#begin({ status: code }, headers)
      this.#exchange.end(this.#isHead ? [] : [bytes])
    } catch {
      this.#exchange.abort()
    }
  }

  get #isHead(): boolean {
    return this.#request.method === 'HEAD'
  }

  #begin({ status, headers }: Omit<ApiResponse, 'body'>, further: Readonly<Record<string, string>>): void {
    for (const name in headers) refuseUnfit(headers[name]!)
    const auditId = this.#request.headers['audit-id']?.slice(0, auditIdCharactersMax)
    this.#exchange.respond(status, {
      'audit-id': auditId ?? this.#random.uuid('audit-id'),
      'cache-control': 'no-cache, private',
      ...further,
      ...headers,
    })
    this.#hasBegun = true
  }

  #sendValue(response: SentResponse, body: ValueBody): Promise<void> | undefined {
    const { mediaType } = body
    if (body.pieces) return this.#sendLarge(response, { mediaType, pieces: body.pieces() })
    const pieces = body.bytes()
    const sizeBytes = sizeOf(pieces)
    if (sizeBytes > smallBytesMax && !this.#isHead)
      return this.#sendLarge(response, { mediaType, pieces, sizeBytes })
    this.#begin(response, { 'content-type': mediaType, 'content-length': String(sizeBytes) })
    this.#exchange.end(this.#isHead ? [] : pieces)
    return undefined
  }

  /** Pieces are produced no faster than the client reads them. */
  async #sendLarge(response: SentResponse, { mediaType, pieces, sizeBytes }: LargeBody): Promise<void> {
    const exchange = this.#exchange
    if (this.#isHead) {
      this.#begin(response, { 'content-type': mediaType })
      return exchange.end()
    }
    const largeResponses = this.#largeResponses
    if (!largeResponses.tryEnter(exchange)) {
      const entered = await largeResponses.enter(exchange)
      if (entered === 'full') throw tooManyRequests('too many large responses in progress', 1)
      if (entered === 'closed') return
    }
    try {
      const isCompressed = acceptsGzip(this.#request.headers['accept-encoding'])
      this.#begin(response, {
        'content-type': mediaType,
        ...(isCompressed && { 'content-encoding': 'gzip', 'vary': 'Accept-Encoding' }),
        ...(!isCompressed && sizeBytes !== undefined && { 'content-length': String(sizeBytes) }),
      })
      let unread = 0
      for await (const piece of isCompressed ? gzipPieces(pieces) : pieces) {
        if (exchange.closed) return
        unread = exchange.write([piece]) ? 0 : unread + 1
        if (unread < unreadPiecesMax) continue
        await exchange.drained()
        unread = 0
        largeResponses.progressed(exchange)
      }
      exchange.end()
    } finally {
      largeResponses.leave(exchange)
    }
  }

  async #sendStream(response: SentResponse, body: StreamBody): Promise<void> {
    const exchange = this.#exchange
    const { mediaType, chunks, stallMsMax } = body
    if (stallMsMax !== undefined) exchange.allowStall(stallMsMax)
    this.#begin(response, mediaType === '' ? {} : { 'content-type': mediaType })
    if (this.#isHead) return exchange.end()
    for await (const batch of chunks) {
      if (exchange.closed) return
      if (!exchange.write(batch.map(chunk => chunk.bytes()))) await exchange.drained()
    }
    exchange.end()
  }
}

/** A plain HTTP response; upgrades are sent by `sendUpgrade`. */
export interface SentResponse extends Omit<ApiResponse, 'body'> {
  readonly body?: ValueBody | StreamBody | undefined
}

/** Pieces that are written although the client has not read those before, so that it need not wait for each. */
const unreadPiecesMax = 4

interface LargeBody {
  readonly mediaType: string
  readonly pieces: Pieces
  /** Undefined if not known. */
  readonly sizeBytes?: number
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

const unexpected = internalError('failed to send response (details are in the server log)')

/** Status codes without a body. */
const noContent: ReadonlySet<number> = new Set([204, 304])

/** Responses up to this size are written at once. Larger ones are compressed, as in Kubernetes. */
const smallBytesMax = 128 * 1024

/** Kubernetes' limit; longer ids are truncated. */
const auditIdCharactersMax = 64

/** Checked here because Node validates headers only for HTTP/1.1. */
const notInHeader = /[^\t\x20-\x7e\x80-\xff]/

function refuseUnfit(value: string | readonly string[]): void {
  const isUnfit =
    typeof value === 'string' ? notInHeader.test(value) : value.some(each => notInHeader.test(each))
  if (isUnfit) throw new Error('response header contains an invalid character')
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  let sizeBytes = 0
  for (const piece of pieces) sizeBytes += piece.length
  return sizeBytes
}

/** Optimized for speed, as in Kubernetes. */
const gzipLevel = 1

/** Size of compressed chunks. */
const gzipChunkBytes = 128 * 1024

/** Size of the blocks that are compressed at once. */
const gzipBlockBytes = 128 * 1024

function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && acceptEncoding.split(',').some(coding => coding.trim() === 'gzip')
}

/** Compresses in Node's thread pool; the event loop only forwards chunks. */
function gzipPieces(pieces: Pieces): AsyncIterable<Uint8Array> {
  const gzip = createGzip({ level: gzipLevel, chunkSize: gzipChunkBytes })
  // The reader receives errors; the listener only prevents an unhandled error if the reader is gone.
  gzip.on('error', () => undefined)
  void compress(gzip, pieces)
  return gzip
}

/** Never rejects. */
async function compress(gzip: Gzip, pieces: Pieces): Promise<void> {
  try {
    for await (const block of joinSmall(pieces, Buffer.allocUnsafeSlow(gzipBlockBytes))) {
      // The callback is called when the block has been read, so that its memory can be used again.
      const error = await new Promise(resolve => gzip.write(block, resolve))
      if (error) return
    }
    gzip.end()
  } catch (error) {
    gzip.destroy(error as Error)
  }
}

/**
 * Joins small pieces in the buffer: every block is a job of the thread pool, which costs more than the compression of
 * a small one. A block must be used before the next one is taken.
 */
async function* joinSmall(pieces: Pieces, buffer: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  let length = 0
  for await (const piece of pieces) {
    if (length > 0 && length + piece.length > buffer.length) {
      yield buffer.subarray(0, length)
      length = 0
    }
    if (piece.length >= buffer.length) {
      yield piece
    } else {
      buffer.set(piece, length)
      length += piece.length
    }
  }
  if (length > 0) yield buffer.subarray(0, length)
}
