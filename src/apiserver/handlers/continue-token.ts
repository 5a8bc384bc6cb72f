/**
 * The opaque continue token of paginated lists. It is validated strictly, because clients can send arbitrary
 * tokens and must not read beyond the listed resource.
 */
import { badRequest } from '#/api/errors.ts'

export interface ContinueToken {
  /** The revision of all pages; undefined for an inconsistent continuation at the latest revision. */
  readonly revision: number | undefined
  /** The last key of the page, relative to the prefix of the list. */
  readonly after: string
}

const version = 'meta.k8s.io/v1'

export function writeContinueToken({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: version, rv: revision ?? -1, start: `${after}\0` })).toString(
    'base64url',
  )
}

/** Throws ApiError 400 if the token is invalid. */
export function readContinueToken(text: string): ContinueToken {
  const token = parse(text)
  if (token?.v !== version)
    throw badRequest('continue key is not valid: server does not recognize this encoded version')
  const { rv, start } = token
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0 || rv < -1) {
    throw badRequest('continue key is not valid: incorrect encoded start resourceVersion')
  }
  if (typeof start !== 'string' || !/^[\w.:-]+(?:\/[\w.:-]+)?\0$/.test(start)) {
    throw badRequest('continue key is not valid: encoded start key empty')
  }
  return { revision: rv === -1 ? undefined : rv, after: start.slice(0, -1) }
}

/** Maximum length of a token. */
const charactersMax = 4_096

function parse(
  text: string,
): { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown } | undefined {
  if (text.length > charactersMax) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
