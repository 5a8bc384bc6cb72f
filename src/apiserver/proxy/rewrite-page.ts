import { promisify } from 'node:util'
import { gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib'
import { HttpClientError, type HttpClientResponse } from '#/platform/http-client.ts'
import { rewriteLinks } from './rewrite-links.ts'

export interface RewrittenPage {
  readonly pieces: AsyncIterable<Uint8Array>
  /** True if the body is still in its original content encoding. */
  readonly keepsEncoding: boolean
}

/** Larger pages, compressed or decompressed, are passed through unchanged. */
const pageBytesMax = 8 * 1024 * 1024

type Decompress = (input: InputType, options: ZlibOptions) => Promise<Buffer>

const decompressors: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', promisify<InputType, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<InputType, ZlibOptions, Buffer>(inflate)],
])

/**
 * Rewrites the links of an HTML page, which is buffered. Pages that cannot be decoded are passed through
 * unchanged.
 */
export async function rewritePage(
  { headers, body }: HttpClientResponse,
  rewrite: (url: string) => string,
): Promise<RewrittenPage> {
  const encoding = headers['content-encoding']?.toLowerCase() ?? ''
  const decompress = encoding === '' || encoding === 'identity' ? plain : decompressors.get(encoding)
  if (decompress === undefined) return { pieces: body, keepsEncoding: true }
  const pieces = body[Symbol.asyncIterator]()
  const { read, failure, isWhole } = await readSome(pieces)
  const page = isWhole ? await decompress(Buffer.concat(read), limits).catch(() => undefined) : undefined
  if (page === undefined) return { pieces: again(read, { pieces, failure, isWhole }), keepsEncoding: true }
  // latin1 maps bytes to characters one to one: links are ASCII, and other bytes must not change whatever the
  // encoding.
  const changed = Buffer.from(rewriteLinks(page.toString('latin1'), rewrite), 'latin1')
  return { pieces: again([changed]), keepsEncoding: false }
}

const limits = { maxOutputLength: pageBytesMax }

async function plain(input: InputType): Promise<Buffer> {
  return input as Buffer
}

interface Begun {
  readonly read: readonly Uint8Array[]
  readonly isWhole: boolean
  readonly failure?: unknown
}

async function readSome(pieces: AsyncIterator<Uint8Array>): Promise<Begun> {
  const read: Uint8Array[] = []
  let sizeBytes = 0
  try {
    while (sizeBytes <= pageBytesMax) {
      const next = await pieces.next()
      if (next.done) return { read, isWhole: true }
      read.push(next.value)
      sizeBytes += next.value.length
    }
    return { read, isWhole: false }
  } catch (failure) {
    if (!(failure instanceof HttpClientError)) throw failure
    return { read, isWhole: false, failure }
  }
}

interface Rest {
  readonly pieces: AsyncIterator<Uint8Array>
  readonly isWhole: boolean
  readonly failure: unknown
}

/**
 * The buffered chunks, then the rest. An upstream failure is passed on, so that the client sees a truncated
 * response.
 */
async function* again(read: readonly Uint8Array[], rest?: Rest): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* read
    if (rest?.failure !== undefined) throw rest.failure
    while (rest !== undefined && !rest.isWhole) {
      const next = await rest.pieces.next()
      if (next.done) return
      yield next.value
    }
  } finally {
    await rest?.pieces.return?.()
  }
}
