/** A cached document with an ETag: a client that already has it gets 304 Not Modified. */
import { createHash } from 'node:crypto'
import type { ApiRequest, ApiResponse } from '../request.ts'

export interface Document {
  readonly mediaType: string
  readonly bytes: Uint8Array
  /** Uppercase SHA-512 of the bytes, the ETag format of Kubernetes. */
  readonly hash: string
  /** The decoded value for in-process callers. */
  value(): unknown
}

export function documentOf({ mediaType, bytes, value }: Omit<Document, 'hash'>): Document {
  return { mediaType, bytes, hash: hashOf(bytes), value }
}

/** For large documents: only the bytes are kept. */
export function jsonDocument(content: unknown): Document {
  return jsonTextDocument(JSON.stringify(content))
}

export function jsonTextDocument(text: string): Document {
  const bytes = Buffer.from(text)
  return documentOf({
    mediaType: 'application/json',
    bytes,
    value: () => JSON.parse(bytes.toString()) as unknown,
  })
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha512').update(bytes).digest('hex').toUpperCase()
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
      bytes: () => [document.bytes],
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
