/**
 * The opaque continue token of paginated lists. It is validated strictly, because clients can send arbitrary
 * tokens and must not read beyond the listed resource.
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { describeType } from '#/api/decoding/decode-scalar.ts'
import { badRequest, type ApiError } from '#/api/errors.ts'
import { parseJson } from '#/api/text/json.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

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
  const { v, rv, start } = parse(text)
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${v}`)
  if (rv === 0) throw invalidToken(`incorrect encoded start resourceVersion (version ${version})`)
  if (start === '') throw invalidToken(`encoded start key empty (version ${version})`)
  // The key must not leave the prefix of the list.
  const isClean = /^\/?[^/]+(?:\/[^/]+)*$/.test(start) && !/(?:^|\/)\.\.?(?:\/|$)/.test(start)
  if (!isClean) throw invalidToken(start)
  return { revision: rv < 0 ? undefined : rv, after: start.replace(/^\//, '').replace(/\0$/, '') }
}

/** Maximum length of a token. */
const charactersMax = 4_096

interface Token {
  readonly v: string
  readonly rv: number
  readonly start: string
}

function parse(text: string): Token {
  const at = text.search(/[^\w-]/)
  if (text.length > charactersMax || at !== -1 || text.length % 4 === 1)
    throw invalidToken(
      `illegal base64 data at input byte ${at === -1 ? text.length - (text.length % 4) : at}`,
    )
  const value = parseObject(Buffer.from(text, 'base64url'))
  return { v: stringIn(value, 'v'), rv: revisionIn(value), start: stringIn(value, 'start') }
}

function parseObject(bytes: Uint8Array): JsonObject {
  try {
    const value = parseJson(bytes)
    if (isObject(value)) return value
    throw unmarshal(value, 'value of type storage.continueToken')
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw invalidToken(error.message)
  }
}

function stringIn(value: JsonObject, name: string): string {
  const found = value[name] ?? ''
  if (typeof found === 'string') return found
  throw unmarshal(found, `struct field continueToken.${name} of type string`)
}

function revisionIn({ rv = 0 }: JsonObject): number {
  if (typeof rv === 'number' && Number.isSafeInteger(rv)) return rv
  throw unmarshal(rv, 'struct field continueToken.rv of type int64')
}

function unmarshal(value: JsonValue, target: string): ApiError {
  return invalidToken(`json: cannot unmarshal ${describeType(value)} into Go ${target}`)
}

function invalidToken(problem: string): ApiError {
  return badRequest(`invalid continue token: continue key is not valid: ${problem}`)
}
