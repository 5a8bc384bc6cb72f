/**
 * Where the next page of a list begins, as an opaque text. It is read back with suspicion: a client may send
 * anything, and must not reach beyond the resource it is listing.
 */
import { badRequest } from '#/api/errors.ts'

export interface ContinueToken {
  /** The state that all pages show; undefined for a list that goes on in the latest state. */
  readonly revision: number | undefined
  /** The rest of the last key, after the prefix of the list. */
  readonly after: string
}

const version = 'meta.k8s.io/v1'

export function writeContinueToken({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: version, rv: revision ?? -1, start: `${after}\0` })).toString(
    'base64url',
  )
}

/** Throws ApiError 400 for anything that `writeContinueToken` does not write. */
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

/** Longer than any key. */
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
