/**
 * Sends a response to an HTTP client: compressed if accepted, with backpressure, and visibly aborted if
 * incomplete.
 */
import { internalError, isApiError, tooManyRequests } from '#/api/errors.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Random } from '#/platform/platform.ts'
import { gzipBatches, type Batches } from '../gzip.ts'
import { batchOf, copyBatch } from '../piece-batch.ts'
import type { ApiResponse, PieceBatch, StreamBody, ValueBody } from '../request.ts'
import type { HttpRequest } from './http-request.ts'
import type { LargeResponses } from './large-responses.ts'
import type { SendBuffers } from './send-buffers.ts'

export interface HttpResponseWriterOptions {
  readonly exchange: HttpExchange
  readonly request: HttpRequest
  readonly largeResponses: LargeResponses
  readonly sendBuffers: SendBuffers
  readonly random: Random
}

export class HttpResponseWriter {
  readonly #exchange: HttpExchange
  readonly #request: HttpRequest
  readonly #largeResponses: LargeResponses
  readonly #sendBuffers: SendBuffers
  readonly #random: Random
  #hasBegun = false

  constructor({ exchange, request, largeResponses, sendBuffers, random }: HttpResponseWriterOptions) {
    this.#exchange = exchange
    this.#request = request
    this.#largeResponses = largeResponses
    this.#sendBuffers = sendBuffers
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
    if (body.batches)
      return this.#sendLarge(response, { mediaType, batches: body.batches(), gzip: body.gzip })
    const pieces = body.bytes()
    const sizeBytes = sizeOf(pieces)
    if (sizeBytes > smallBytesMax && !this.#isHead)
      return this.#sendLarge(response, { mediaType, batches: pieces.map(batchOf), sizeBytes })
    this.#begin(response, { 'content-type': mediaType, 'content-length': String(sizeBytes) })
    this.#exchange.end(this.#isHead ? [] : pieces)
    return undefined
  }

  /** Batches are produced no faster than the client reads them. */
  async #sendLarge(response: SentResponse, body: LargeBody): Promise<void> {
    const exchange = this.#exchange
    const { mediaType, sizeBytes } = body
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
      const batches = isCompressed ? await compressedOf(body) : body.batches
      this.#begin(response, {
        'content-type': mediaType,
        ...(isCompressed && { 'content-encoding': 'gzip', 'vary': 'Accept-Encoding' }),
        ...(!isCompressed && sizeBytes !== undefined && { 'content-length': String(sizeBytes) }),
      })
      let unread = 0
      for await (const batch of batches) {
        if (exchange.closed) return
        unread = this.#writeBatch(batch) ? 0 : unread + 1
        if (unread < unreadBatchesMax) continue
        await exchange.drained()
        unread = 0
        largeResponses.progressed(exchange)
      }
      exchange.end()
    } finally {
      largeResponses.leave(exchange)
    }
  }

  #writeBatch(batch: PieceBatch): boolean {
    const [first] = batch.pieces
    if (batch.pieces.length === 1 && typeof first !== 'string') return this.#exchange.write([first!])
    const sendBuffers = this.#sendBuffers
    const buffer = sendBuffers.take(batch.sizeBytes)
    copyBatch(batch, buffer)
    return this.#exchange.write([buffer.subarray(0, batch.sizeBytes)], () => sendBuffers.give(buffer))
  }

  async #sendStream(response: SentResponse, body: StreamBody): Promise<void> {
    const exchange = this.#exchange
    const { mediaType, chunks, stallMsMax, onSent } = body
    if (stallMsMax !== undefined) exchange.allowStall(stallMsMax)
    this.#begin(response, mediaType === '' ? {} : { 'content-type': mediaType })
    if (this.#isHead) return exchange.end()
    for await (const batch of chunks) {
      if (exchange.closed) return
      const pieces = batch.map(chunk => chunk.bytes())
      if (onSent) for (const { length } of pieces) onSent(length)
      if (!exchange.write(pieces)) await exchange.drained()
    }
    exchange.end()
  }
}

/** A plain HTTP response; upgrades are sent by `sendUpgrade`. */
export interface SentResponse extends Omit<ApiResponse, 'body'> {
  readonly body?: ValueBody | StreamBody | undefined
}

/** Batches that are written although the client has not read those before, so that it need not wait for each. */
const unreadBatchesMax = 4

interface LargeBody {
  readonly mediaType: string
  readonly batches: Batches
  readonly gzip?: ValueBody['gzip']
  /** Undefined if not known. */
  readonly sizeBytes?: number
}

async function compressedOf({ batches, gzip }: LargeBody): Promise<Batches> {
  const shared = await gzip?.()
  return shared ? shared.pieces.map(batchOf) : gzipBatches(batches)
}

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

function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && acceptEncoding.split(',').some(coding => coding.trim() === 'gzip')
}
