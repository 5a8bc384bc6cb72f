/**
 * A cached document with an ETag: a client that already has it gets 304 Not Modified. A document that grows with the
 * number of CustomResourceDefinitions consists of chunks, which are encoded and hashed once and shared by all versions
 * of the document that contain them.
 */
import { hash } from 'node:crypto'
import { unpooledBytes } from '#/base/unpooled-bytes.ts'
import type { ApiRequest, ApiResponse } from '../request.ts'

export interface Document {
  readonly mediaType: string
  /** The encoded document, in order. */
  readonly chunks: readonly Uint8Array[]
  /** An uppercase SHA-512, the ETag format of Kubernetes. Determined by the content alone. */
  readonly hash: string
  /** The decoded value for in-process callers. */
  value(): unknown
}

export interface Chunk {
  readonly bytes: Uint8Array
  readonly hash: string
}

export interface DocumentContent extends Pick<Document, 'mediaType' | 'value'> {
  readonly bytes: Uint8Array
}

export function documentOf({ mediaType, bytes, value }: DocumentContent): Document {
  return { mediaType, chunks: [bytes], hash: etagHash(bytes), value }
}

/** For large documents: only the bytes are kept. */
export function jsonDocument(content: unknown): Document {
  const bytes = Buffer.from(JSON.stringify(content))
  return documentOf({ mediaType: 'application/json', bytes, value: () => parseChunks([bytes]) })
}

export interface ChunkedContent {
  readonly mediaType: string
  readonly chunks: readonly Uint8Array[]
  /** They identify the content together, so that its bytes are not read to compute the ETag. */
  readonly hashes: readonly string[]
}

export function chunkedDocument({ mediaType, chunks, hashes }: ChunkedContent): Document {
  return { mediaType, chunks, hash: etagHash(hashes.join()), value: () => parseChunks(chunks) }
}

export interface JsonList {
  readonly mediaType: string
  /** The JSON before the items and after them. */
  readonly head: string
  readonly tail: string
  /** Elements of an array or members of an object, each with a comma before it. */
  readonly items: readonly Chunk[]
}

export function listDocument({ mediaType, head, items, tail }: JsonList): Document {
  return chunkedDocument({
    mediaType,
    chunks: [Buffer.from(head), ...withoutFirstComma(items.map(each => each.bytes)), Buffer.from(tail)],
    hashes: [head, ...items.map(each => each.hash), tail],
  })
}

export function chunkOf(text: string): Chunk {
  const bytes = unpooledBytes(text)
  return { bytes, hash: contentHash(bytes) }
}

/** Of a part of a document. */
export function contentHash(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64')
}

/** Of elements or members that each begin with a comma. */
export function withoutFirstComma(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
  return chunks[0] ? chunks.with(0, chunks[0].subarray(1)) : chunks
}

function parseChunks(chunks: readonly Uint8Array[]): unknown {
  return JSON.parse(Buffer.concat(chunks).toString()) as unknown
}

function etagHash(content: string | Uint8Array): string {
  return hash('sha512', content, 'hex').toUpperCase()
}

export function documentResponse(
  { headers }: Pick<ApiRequest, 'headers'>,
  document: Document,
  more: ApiResponse['headers'] = {},
): ApiResponse {
  const tag = `"${document.hash}"`
  const common = { etag: tag, vary: 'Accept', ...more }
  if (matchesEtag(headers['if-none-match'], tag)) return { status: 304, headers: common }
  return {
    status: 200,
    headers: common,
    body: {
      type: 'value',
      mediaType: document.mediaType,
      get value() {
        return document.value()
      },
      bytes: () => document.chunks,
    },
  }
}

/** True if If-None-Match matches. Compression weakens tags, so weak tags match too. */
function matchesEtag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some(each => {
    const known = each.trim()
    return known === '*' || known === tag || known === `W/${tag}`
  })
}
