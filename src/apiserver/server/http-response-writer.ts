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
import type { ResponseMemoryBudget } from './response-memory-budget.ts'

export interface HttpResponseWriterOptions {
  readonly exchange: HttpExchange
  readonly request: HttpRequest
  readonly budget: ResponseMemoryBudget
  readonly random: Random
}

export class HttpResponseWriter {
  readonly #exchange: HttpExchange
  readonly #request: HttpRequest
  readonly #budget: ResponseMemoryBudget
  readonly #random: Random
  #hasBegun = false

  constructor({ exchange, request, budget, random }: HttpResponseWriterOptions) {
    this.#exchange = exchange
    this.#request = request
    this.#budget = budget
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
    const pieces = body.bytes()
    const sizeBytes = sizeOf(pieces)
    if (sizeBytes <= smallBytesMax || this.#isHead) {
      this.#begin(response, { 'content-type': body.mediaType, 'content-length': String(sizeBytes) })
      this.#exchange.end(this.#isHead ? [] : pieces)
      return undefined
    }
    return this.#sendLarge(response, { body, pieces, sizeBytes })
  }

  async #sendLarge(response: SentResponse, { body, pieces, sizeBytes }: LargeValue): Promise<void> {
    const budget = this.#budget
    const hasRoom = budget.tryEnter(this.#exchange, sizeBytes)
    // A waiting response does not hold its bytes; they are produced again when it is sent.
    const current = hasRoom ? pieces : await this.#whenRoom(body, sizeBytes)
    if (current === undefined) return
    try {
      if (sizeBytes > gzipBytesMin && acceptsGzip(this.#request.headers['accept-encoding'])) {
        const encoding = { 'content-encoding': 'gzip', 'vary': 'Accept-Encoding' }
        this.#begin(response, { 'content-type': body.mediaType, ...encoding })
        await this.#writeEach(gzipPieces(current))
      } else {
        this.#begin(response, { 'content-type': body.mediaType, 'content-length': String(sizeBytes) })
        await this.#writeAll(current)
      }
    } finally {
      budget.leave(this.#exchange)
    }
  }

  async #whenRoom(body: ValueBody, sizeBytes: number): Promise<readonly Uint8Array[] | undefined> {
    const entered = await this.#budget.enter(this.#exchange, sizeBytes)
    if (entered === 'full') throw tooManyRequests('too many large responses in progress', 1)
    return entered === 'closed' ? undefined : body.bytes()
  }

  /** The chunks are already in memory, so they are written in groups and only backpressure is awaited. */
  async #writeAll(pieces: readonly Uint8Array[]): Promise<void> {
    const exchange = this.#exchange
    for (let start = 0; start < pieces.length && !exchange.closed; start += piecesAtOnce) {
      if (exchange.write(pieces.slice(start, start + piecesAtOnce))) continue
      await exchange.drained()
      this.#budget.progressed(exchange)
    }
    exchange.end()
  }

  /** Produces chunks no faster than the client reads them. */
  async #writeEach(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const exchange = this.#exchange
    for await (const piece of pieces) {
      if (exchange.closed) return
      if (exchange.write([piece])) continue
      await exchange.drained()
      this.#budget.progressed(exchange)
    }
    exchange.end()
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

interface LargeValue {
  readonly body: ValueBody
  readonly pieces: readonly Uint8Array[]
  readonly sizeBytes: number
}

const unexpected = internalError('failed to send response (details are in the server log)')

/** Status codes without a body. */
const noContent: ReadonlySet<number> = new Set([204, 304])

/** Number of chunks written before checking for backpressure. */
const piecesAtOnce = 8

/** Responses up to this size are written at once, without backpressure. */
const smallBytesMax = 64 * 1024

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

/** Kubernetes' threshold; smaller responses are not compressed. */
const gzipBytesMin = 128 * 1024

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
function gzipPieces(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  const gzip = createGzip({ level: gzipLevel, chunkSize: gzipChunkBytes })
  // The reader receives errors; the listener only prevents an unhandled error if the reader is gone.
  gzip.on('error', () => undefined)
  void compress(gzip, pieces)
  return gzip
}

/** Never rejects. */
async function compress(gzip: Gzip, pieces: readonly Uint8Array[]): Promise<void> {
  for (const block of joinSmall(pieces, Buffer.allocUnsafeSlow(gzipBlockBytes))) {
    // The callback is called when the block has been read, so that its memory can be used again.
    const error = await new Promise(resolve => gzip.write(block, resolve))
    if (error) return
  }
  gzip.end()
}

/**
 * Joins small pieces in the buffer: every block is a job of the thread pool, which costs more than the compression of
 * a small one. A block must be used before the next one is taken.
 */
function* joinSmall(
  pieces: readonly Uint8Array[],
  buffer: Uint8Array,
): Generator<Uint8Array, void, undefined> {
  let length = 0
  for (const piece of pieces) {
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
