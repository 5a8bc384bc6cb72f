import { promisify } from 'node:util'
import { gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib'
import { HttpClientError, type HttpClientResponse } from '#/platform/http-client.ts'
import { rewriteLinks } from './rewrite-links.ts'

export interface RewrittenPage {
  readonly pieces: AsyncIterable<Uint8Array>
  /** Whether what was compressed still is. */
  readonly keepsEncoding: boolean
}

/** A page that is larger, as it comes or decompressed, goes on as it is. */
const pageBytesMax = 8 * 1024 * 1024

type Decompress = (input: InputType, options: ZlibOptions) => Promise<Buffer>

const decompressors: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', promisify<InputType, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<InputType, ZlibOptions, Buffer>(inflate)],
])

/** A page with its links changed. It is read as a whole; one that cannot be understood stays as it is. */
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
  // Bytes are characters here: links are ASCII, and the rest must stay what it is in whatever encoding.
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

/** What was read, and then the rest. A client sees that an answer is not whole when it was not. */
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
