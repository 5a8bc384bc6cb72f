/**
 * The kind that an object says it is of. Bodies of requests may leave it out, so both texts may be empty;
 * manifests may not, see `requireTypeMeta`. A value that has no place for a kind, or a kind that is no
 * string, is an error.
 */
import { DecodeError } from './decode-error.ts'
import { describeType } from './decode-scalar.ts'
import { parseGroupVersion } from './group-version.ts'
import type { JsonValue } from './json-value.ts'
import { get, isObject, type JsonObject } from './patch/json-object.ts'

export interface TypeMeta {
  readonly apiVersion: string
  readonly kind: string
}

/** Throws DecodeError when the value is no object, or its `apiVersion` or `kind` makes no sense. */
export function readTypeMeta(value: JsonValue): TypeMeta {
  if (value === null) return { apiVersion: '', kind: '' }
  if (!isObject(value)) throw unreadable(value, `Go value of type ${goStruct}`)
  const apiVersion = readText(value, 'apiVersion')
  if (parseGroupVersion(apiVersion) === undefined) {
    throw new DecodeError('type', `unexpected GroupVersion string: ${cut(apiVersion)}`)
  }
  return { apiVersion, kind: readText(value, 'kind') }
}

/**
 * As `readTypeMeta`, for objects that must say what they are. `text` is what they were read from, for the
 * message.
 */
export function requireTypeMeta(value: JsonValue, text: string): TypeMeta {
  const typeMeta = readTypeMeta(value)
  if (typeMeta.kind === '') throw missing('Kind', text)
  if (typeMeta.apiVersion === '') throw missing('apiVersion', text)
  return typeMeta
}

export function missing(field: 'Kind' | 'apiVersion', text: string): DecodeError {
  return new DecodeError('type', `Object '${field}' is missing in '${cut(text)}'`)
}

/** Characters of an input that a message shows. */
const shownCharactersMax = 1_000

function cut(text: string): string {
  return text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}...` : text
}

const goStruct =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

function readText(object: JsonObject, field: string): string {
  const value = get(object, field) ?? ''
  if (typeof value !== 'string') throw unreadable(value, `Go struct field .${field} of type string`)
  return value
}

function unreadable(value: JsonValue, target: string): DecodeError {
  const text = `json: cannot unmarshal ${describeType(value)} into ${target}`
  return new DecodeError('type', `couldn't get version/kind; json parse error: ${text}`)
}
