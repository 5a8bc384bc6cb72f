/**
 * Directives of strategic merge patch: members of a patch that control merging. Kubernetes returns 500 for
 * some invalid patches; here they are always client errors, 400 or 422.
 */
import { apiError, badRequest, unknownError, type ApiError } from '../errors.ts'
import { formatGoValue } from '../text/quote.ts'
import type { JsonValue } from '../text/json-value.ts'
import { showValue } from '../text/quote.ts'
import { get, type JsonObject } from '../text/json-object.ts'

export const patchMarker = '$patch'
export const retainKeysMarker = '$retainKeys'
const orderMarker = '$setElementOrder'
const deletionMarker = '$deleteFromPrimitiveList'

export function orderKey(field: string): string {
  return `${orderMarker}/${field}`
}

export function deletionKey(field: string): string {
  return `${deletionMarker}/${field}`
}

export function isDirective(key: string): boolean {
  return key.startsWith('$') && (key === patchMarker || key === retainKeysMarker || isListDirective(key))
}

/** The field that a `$setElementOrder/...` or `$deleteFromPrimitiveList/...` directive refers to. */
export function fieldOfDirective(key: string): string | undefined {
  if (!key.startsWith('$') || !isListDirective(key)) return undefined
  const marker = key.startsWith(orderMarker) ? orderMarker : deletionMarker
  if (key.startsWith(`${marker}/`)) return key.slice(marker.length + 1)
  throw marker === orderMarker ? invalidElementOrderError() : invalidPrimitiveListError()
}

/** The value of the `$patch` directive; `undefined` if there is none. */
export function patchDirective(patch: JsonObject): 'replace' | 'delete' | 'merge' | undefined {
  const directive = get(patch, patchMarker)
  if (directive === undefined) return undefined
  if (directive === 'replace' || directive === 'delete' || directive === 'merge') return directive
  throw unknownError(`unknown patch type: ${formatGoValue(directive)} in map: ${formatGoValue(patch)}`)
}

/** The members listed by `$retainKeys`; `undefined` if there is none. */
export function retainedKeys(patch: JsonObject): ReadonlySet<JsonValue> | undefined {
  const list = get(patch, retainKeysMarker)
  if (list === undefined) return undefined
  if (!Array.isArray(list)) throw invalidRetainKeysError()
  const keys = new Set(list)
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !isDirective(key) && !keys.has(key)) throw invalidRetainKeysError()
  }
  return keys
}

export function invalidElementOrderError(): ApiError {
  return badRequest('invalid patch format of setElementOrder list')
}

export function invalidPrimitiveListError(): ApiError {
  return badRequest('invalid patch format of primitive list')
}

export function elementOrderMismatchError(patch: JsonValue, order: JsonValue): ApiError {
  const text = `The order in patch list: ${show(patch)} doesn't match ${orderMarker} list: ${show(order)}`
  return badRequest(text)
}

export function noMergeKeyError(item: JsonValue, mergeKey: string): ApiError {
  return apiError('Invalid', `map: ${show(item)} does not contain declared merge key: ${mergeKey}`)
}

export function notAnObjectError(item: JsonValue): ApiError {
  return apiError('Invalid', `expected a map in a merged list, but received ${show(item)}`)
}

export function notAScalarError(item: JsonValue): ApiError {
  if (Array.isArray(item)) return apiError('Invalid', 'lists of lists are not supported')
  return apiError('Invalid', `cannot merge lists without merge key: ${show(item)}`)
}

/** Maximum length of the patch in an error message. */
const shownCharactersMax = 300

function show(value: JsonValue): string {
  return showValue(value, shownCharactersMax)
}

function invalidRetainKeysError(): ApiError {
  return badRequest('invalid patch format of retainKeys')
}

function isListDirective(key: string): boolean {
  return key.startsWith(orderMarker) || key.startsWith(deletionMarker)
}
