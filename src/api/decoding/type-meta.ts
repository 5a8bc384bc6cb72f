/**
 * Reads the type metadata of an object. Request bodies may omit it, so both strings may be empty; manifests
 * must not, see `requireTypeMeta`. A value that is not an object, or a kind that is not a string, is an
 * error.
 */
import { DecodeError } from './decode-error.ts'
import { describeType } from './decode-scalar.ts'
import { parseGroupVersion } from '../group-version.ts'
import type { JsonValue } from '../text/json-value.ts'
import { get, isObject, type JsonObject } from '../text/json-object.ts'

export interface TypeMeta {
  readonly apiVersion: string
  readonly kind: string
}

/** Throws DecodeError if the value is not an object, or its `apiVersion` or `kind` is invalid. */
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
 * Like `readTypeMeta`, for objects that must have type metadata. `text` is the input, for the error message.
 */
export function requireTypeMeta(value: JsonValue, text: string): TypeMeta {
  const typeMeta = readTypeMeta(value)
  if (typeMeta.kind === '') throw missingTypeMetaError('Kind', text)
  if (typeMeta.apiVersion === '') throw missingTypeMetaError('apiVersion', text)
  return typeMeta
}

export function missingTypeMetaError(field: 'Kind' | 'apiVersion', text: string): DecodeError {
  return new DecodeError('type', `Object '${field}' is missing in '${cut(text)}'`)
}

/** Maximum length of the input in an error message. */
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
