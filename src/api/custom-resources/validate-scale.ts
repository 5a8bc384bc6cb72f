/** Validation of the fields that the scale subresource of a custom resource reads. */
import { invalid, type FieldError } from '../field-error.ts'
import type { CustomResourceSubresourceScale } from '../generated/apiextensions/v1.ts'
import { formatGoValue } from '../text/quote.ts'
import { get, isObject, type JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'

export interface ScaleCheck {
  readonly spec: (object: JsonObject) => FieldError[]
  readonly status: (object: JsonObject) => FieldError[]
}

/** Validation of the definition ensures simple paths: `.spec.replicas`. */
export function compileScaleCheck(scale: CustomResourceSubresourceScale): ScaleCheck {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale
  const specReplicas = replicasCheck(specReplicasPath)
  const statusReplicas = replicasCheck(statusReplicasPath)
  const selector = labelSelectorPath ? selectorCheck(labelSelectorPath) : () => []
  return { spec: specReplicas, status: object => [...statusReplicas(object), ...selector(object)] }
}

const replicasMax = 2 ** 31 - 1

function replicasCheck(path: string): (object: JsonObject) => FieldError[] {
  const find = accessor(path)
  return object => {
    const { value, problem } = find(object)
    if (problem !== undefined) return [invalid(path, 0, problem)]
    if (value === undefined) return []
    if (!isInteger(value)) return [invalid(path, 0, otherType(path, value, 'int64'))]
    if (value < 0) return [invalid(path, value, 'should be a non-negative integer')]
    return value > replicasMax ? [invalid(path, value, `should be less than or equal to ${replicasMax}`)] : []
  }
}

function selectorCheck(path: string): (object: JsonObject) => FieldError[] {
  const find = accessor(path)
  return object => {
    const { value, problem } = find(object)
    if (problem !== undefined) return [invalid(path, '', problem)]
    if (value === undefined || typeof value === 'string') return []
    return [invalid(path, '', otherType(path, value, 'string'))]
  }
}

interface Found {
  /** Undefined if the object does not have the field. */
  readonly value?: JsonValue | undefined
  readonly problem?: string
}

function accessor(path: string): (object: JsonObject) => Found {
  const names = path.replace(/^\./, '').split('.')
  return object => {
    let value: JsonValue | undefined = object
    for (const [index, name] of names.entries()) {
      if (value === undefined || value === null) return {}
      const place = `.${names.slice(0, index + 1).join('.')}`
      if (!isObject(value)) return { problem: otherType(place, value, 'map[string]interface{}') }
      value = get(value, name)
    }
    return { value }
  }
}

function otherType(path: string, value: JsonValue, expected: string): string {
  return `${path} accessor error: ${formatGoValue(value)} is of the type ${goTypeOf(value)}, expected ${expected}`
}

function goTypeOf(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return isInteger(value) ? 'int64' : 'float64'
}

/** Larger integers in the range of int64 are read as bigint. */
function isInteger(value: JsonValue): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value)
}
