import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { formatValue } from '../printers/go-format.ts'
import {
  parseJsonPathTemplate,
  relaxedJsonPath,
  type JsonPathTemplate,
} from '../printers/json-path-template.ts'

/** The value of a flag `--for`. */
export type WaitCondition =
  | { readonly type: 'create' | 'delete' }
  /** The present state of an object fulfills the condition or not. */
  | { readonly type: 'state'; readonly isMet: (object: JsonObject) => boolean }

/** Throws Error. */
export function parseWaitCondition(text: string): WaitCondition {
  const lower = text.toLowerCase()
  if (lower === 'create' || lower === 'delete') return { type: lower }
  if (text.startsWith('condition=')) return statusCondition(text.slice('condition='.length))
  if (text.startsWith('jsonpath=')) return jsonPathCondition(text.slice('jsonpath='.length))
  throw new Error(`unrecognized condition: ${quote(text)}`)
}

/** `Ready`, `Ready=False`. */
function statusCondition(text: string): WaitCondition {
  const [, name = text, status = 'true'] = /^([^=]*)=([^]*)$/.exec(text) ?? []
  return { type: 'state', isMet: object => hasCondition(object, { name, status }) }
}

/** A condition of an earlier generation does not count. */
function hasCondition(
  object: JsonObject,
  { name, status }: { readonly name: string; readonly status: string },
): boolean {
  const { status: objectStatus, metadata } = object
  const conditions = isObject(objectStatus) ? objectStatus['conditions'] : undefined
  if (!Array.isArray(conditions)) return false
  const found = conditions
    .filter(isObject)
    .find(each => isSameText(each['type'], name) && typeof each['status'] === 'string')
  if (found === undefined) return false
  const generation = isObject(metadata) ? metadata['generation'] : undefined
  const observed =
    found['observedGeneration'] ?? (isObject(objectStatus) ? objectStatus['observedGeneration'] : undefined)
  if (isInteger(generation) && isInteger(observed) && observed < generation) return false
  return isSameText(found['status'], status)
}

function isInteger(value: JsonValue | undefined): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}

function isSameText(value: JsonValue | undefined, text: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === text.toLowerCase()
}

const formats = `--for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'`

/** `{.status.phase}=Running`; without a value, any one that is there. */
function jsonPathCondition(text: string): WaitCondition {
  const [path = '', value, ...more] = splitAtEquals(text)
  if (more.length > 0) throw new Error(`jsonpath wait format must be ${formats}`)
  const expression = relaxedJsonPath(path)
  const wanted = value?.replaceAll(/^['"]+|['"]+$/g, '')
  if (wanted === '') {
    throw new Error(
      "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
    )
  }
  if (expression === '') throw new Error('jsonpath expression cannot be empty')
  const template = parseJsonPathTemplate(expression, { allowMissingKeys: true })
  return { type: 'state', isMet: object => matchesPath(object, template, wanted) }
}

/** At single equal signs; `==` is an operator of JSONPath. */
export function splitAtEquals(text: string): readonly string[] {
  const parts = ['']
  for (const [piece] of text.matchAll(/==|=|[^=]+/g)) {
    if (piece === '=') parts.push('')
    else parts[parts.length - 1] += piece
  }
  return parts
}

function matchesPath(object: JsonObject, template: JsonPathTemplate, wanted: string | undefined): boolean {
  const matches = template.matches(object)
  if (matches.length === 0) return false
  if (matches.length > 1) throw new Error('given jsonpath expression matches more than one value')
  const [value] = matches
  if (wanted === undefined) return true
  if (Array.isArray(value) || isJsonObject(value)) {
    throw new Error('jsonpath leads to a nested object or list which is not supported')
  }
  return formatValue(value).trim() === wanted.trim()
}

function isJsonObject(value: ReturnType<JsonPathTemplate['matches']>[number]): boolean {
  return typeof value === 'object' && value !== null && value.constructor === Object
}
