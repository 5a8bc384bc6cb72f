/**
 * Validation of custom resources against the schema of their version, with Kubernetes' messages. A schema is
 * compiled once into checks, when the first value of it is validated: objects contain values of few of the
 * fields of a large schema. A check costs nothing for keywords that the schema does not use.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
 */
import { compileRegularExpression } from '#/base/regular-expression.ts'
import {
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  wrongType,
  type FieldError,
} from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from './subschemas.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import { equalJson, type JsonValue } from '../text/json-value.ts'
import { quote } from '../text/quote.ts'
import { correlateItems } from './correlate-items.ts'
import { stringFormatOf } from './string-formats.ts'

/** A value and its place. */
export interface Placed {
  readonly value: JsonValue
  /** The path without a leading dot: `spec.items[0].name`; empty for the root. */
  readonly path: string
  /**
   * The value at the same place in the stored object. Errors of an unchanged value are ignored, so that a
   * stricter schema does not block updates of other fields (ratcheting).
   */
  readonly old: JsonValue | undefined
}

export type SchemaCheck = (placed: Placed, errors: FieldError[]) => void

/** Maximum number of errors for one object: each is part of the response. */
const errorsMax = 1_000
/** Past this number of characters in errors, long errors are omitted; the object is rejected nevertheless. */
const errorCharactersMax = 1_000_000

export function compileSchemaCheck(
  schema: JSONSchemaProps,
): (value: JsonValue, old?: JsonValue) => FieldError[] {
  const check = checkOf(schema)
  return (value, old) => {
    const errors: FieldError[] = []
    check({ value, path: '', old }, errors)
    return errors
  }
}

function checkOf(schema: JSONSchemaProps): SchemaCheck {
  let check: SchemaCheck | undefined
  return (placed, errors) => {
    check ??= compileCheck(schema)
    check(placed, errors)
  }
}

function compileCheck(schema: JSONSchemaProps): SchemaCheck {
  const checks = [
    typeCheck(schema),
    ...combinationChecks(schema),
    stringCheck(schema),
    formatCheck(schema),
    numberCheck(schema),
    listCheck(schema),
    enumCheck(schema),
    objectCheck(schema),
  ].filter(check => check !== undefined)
  return (placed, errors) => {
    if (errors.length >= errorsMax) return
    const before = errors.length
    for (const check of checks) check(placed, errors)
    const isWorse = errors.length > before && placed.old !== undefined
    if (isWorse && equalJson(placed.value, placed.old)) errors.length = before
  }
}

/** The type of a value in messages. */
function typeOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  // Larger integers are read as bigint, if they are in the range of int64.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  return typeof value
}

function typeCheck(schema: JSONSchemaProps): SchemaCheck | undefined {
  const types = schema['x-kubernetes-int-or-string']
    ? ['integer', 'string']
    : schema.type
      ? [schema.type]
      : []
  if (types.length === 0) return undefined
  const wanted = types.join(',')
  return ({ value, path }, errors) => {
    const type = typeOf(value)
    if (
      value === null
        ? schema.nullable
        : types.includes(type) || (type === 'integer' && schema.type === 'number')
    ) {
      return
    }
    errors.push(wrongType(fieldOf(path), type, `${path} in body must be of type ${wanted}: ${quote(type)}`))
  }
}

/**
 * The path in messages about the root is empty; as a field it is `<nil>`. The paths of the values of a map at the
 * root, which only a default can be, begin with a dot in messages.
 */
function fieldOf(path: string): string {
  if (path === '') return '<nil>'
  return path.startsWith('.') ? path.slice(1) : path
}

function stringCheck({ maxLength, minLength, pattern }: JSONSchemaProps): SchemaCheck | undefined {
  if (maxLength === undefined && minLength === undefined && !pattern) return undefined
  const expression = pattern ? compileRegularExpression(pattern) : undefined
  return ({ value, path }, errors) => {
    if (typeof value !== 'string') return
    // Only the first problem is reported.
    if (maxLength !== undefined && isLongerThan(value, Number(maxLength))) {
      errors.push(tooLong(fieldOf(path), Number(maxLength)))
    } else if (minLength !== undefined && !isLongerThan(value, Number(minLength) - 1)) {
      errors.push(invalid(fieldOf(path), value, `${path} in body should be at least ${minLength} chars long`))
    } else if (expression !== undefined && !expression.test(value)) {
      errors.push(invalid(fieldOf(path), value, `${path} in body should match '${pattern}'`))
    }
  }
}

/** Counts characters, not UTF-16 units, but only as far as needed. */
function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false
  let count = 0
  for (const _ of text) {
    count += 1
    if (count > max) return true
  }
  return false
}

function formatCheck({ format, type }: JSONSchemaProps): SchemaCheck | undefined {
  const isValid = format && (type === 'string' || !type) ? stringFormatOf(format) : undefined
  if (isValid === undefined) return undefined
  return ({ value, path }, errors) => {
    if (typeof value !== 'string' || isValid(value)) return
    errors.push(wrongType(fieldOf(path), value, `${path} in body must be of type ${format}: ${quote(value)}`))
  }
}

function numberCheck(schema: JSONSchemaProps): SchemaCheck | undefined {
  const { minimum, maximum, multipleOf } = schema
  const isInteger = schema.type === 'integer'
  if (minimum === undefined && maximum === undefined && !multipleOf && !isInteger) return undefined
  return ({ value, path }, errors) => {
    if (typeof value !== 'number' && typeof value !== 'bigint') return
    if (isInteger && !fitsFormat(value, schema.format)) {
      const format = schema.format ? `with format ${schema.format}` : '(default format)'
      errors.push(combined(`Checked value must be of type integer ${format} in ${path}`))
    }
    const number = Number(value)
    const fail = (text: string): void => {
      errors.push(invalid(fieldOf(path), value, `${path} in body should be ${text}`))
    }
    if (multipleOf && !isMultiple(number, multipleOf)) fail(`a multiple of ${formatNumber(multipleOf)}`)
    if (maximum !== undefined && (schema.exclusiveMaximum ? number >= maximum : number > maximum)) {
      fail(`less than ${schema.exclusiveMaximum ? '' : 'or equal to '}${formatNumber(maximum)}`)
    }
    if (minimum !== undefined && (schema.exclusiveMinimum ? number <= minimum : number < minimum)) {
      fail(`greater than ${schema.exclusiveMinimum ? '' : 'or equal to '}${formatNumber(minimum)}`)
    }
  }
}

/** True for an integer in the range of its format. */
function fitsFormat(value: number | bigint, format: string | undefined): boolean {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return false
  return format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31)
}

function isMultiple(value: number, factor: number): boolean {
  const quotient = value / factor
  return Number.isInteger(quotient)
}

/** As Go shows a floating-point number: exponents have two digits. */
function formatNumber(value: number): string {
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2')
}

function enumCheck(schema: JSONSchemaProps): SchemaCheck | undefined {
  const { enum: values } = schema
  if (values === undefined || values.length === 0) return undefined
  const texts = values.map(value => (typeof value === 'string' ? value : JSON.stringify(value)))
  const strings = new Set(values.filter(value => typeof value === 'string'))
  const others = values.filter(value => typeof value !== 'string')
  const { detail } = notSupported('', '', texts)
  return ({ value, path }, errors) => {
    if (value === null && schema.nullable && !values.includes(null)) return
    const isKnown =
      typeof value === 'string' ? strings.has(value) : others.some(each => equalJson(each, value))
    // Every error lists all values.
    if (isKnown || errors.length * detail.length > errorCharactersMax) return
    errors.push({ ...notSupported(fieldOf(path), value, []), detail })
  }
}

function listCheck(schema: JSONSchemaProps): SchemaCheck | undefined {
  const { minItems, maxItems } = schema
  const items = itemsOf(schema)
  const checkItem = items && checkOf(items)
  if (checkItem === undefined && minItems === undefined && maxItems === undefined) return undefined
  return ({ value, path, old }, errors) => {
    if (!Array.isArray(value)) return
    if (checkItem !== undefined) {
      const olds = correlateItems(schema, value, old)
      for (let index = 0; index < value.length; index++) {
        checkItem({ value: value[index]!, path: `${path}[${index}]`, old: olds(index) }, errors)
      }
    }
    if (minItems !== undefined && value.length < Number(minItems)) {
      const detail = `${path} in body should have at least ${minItems} items`
      errors.push(invalid(fieldOf(path), value.length, detail))
    }
    if (maxItems !== undefined && value.length > Number(maxItems)) {
      errors.push(tooMany(fieldOf(path), value.length, Number(maxItems)))
    }
  }
}

function objectCheck(schema: JSONSchemaProps): SchemaCheck | undefined {
  const { minProperties, maxProperties, required: names = [] } = schema
  const properties = Object.entries(schema.properties ?? {}).map(
    ([name, each]) => [name, checkOf(each)] as const,
  )
  const values = valuesOf(schema)
  const checkValue = values && checkOf(values)
  const known = new Set(properties.map(([name]) => name))
  const hasSizes = minProperties !== undefined || maxProperties !== undefined
  if (!hasSizes && names.length === 0 && properties.length === 0 && checkValue === undefined) return undefined
  return ({ value, path, old }, errors) => {
    if (!isObject(value)) return
    const olds = isObject(old) ? old : undefined
    const size = hasSizes ? Object.keys(value).length : 0
    if (minProperties !== undefined && size < Number(minProperties)) {
      const detail = `${path} in body should have at least ${minProperties} properties`
      errors.push(invalid(fieldOf(path), size, detail))
    }
    if (maxProperties !== undefined && size > Number(maxProperties)) {
      errors.push(tooMany(fieldOf(path), size, Number(maxProperties)))
    }
    for (const [name, check] of properties) {
      if (Object.hasOwn(value, name)) check(placedIn({ value, path, olds }, name), errors)
    }
    if (checkValue !== undefined) {
      for (const name of Object.keys(value)) {
        if (known.has(name)) continue
        checkValue({ ...placedIn({ value, path, olds }, name), path: `${path}.${name}` }, errors)
      }
    }
    for (const name of names) {
      if (!Object.hasOwn(value, name)) errors.push(required(fieldOf(pathIn(path, name)), ''))
    }
  }
}

interface Parent {
  readonly value: JsonObject
  readonly path: string
  readonly olds: JsonObject | undefined
}

function placedIn({ value, path, olds }: Parent, name: string): Placed {
  const old = olds && Object.hasOwn(olds, name) ? olds[name] : undefined
  return { value: value[name] as JsonValue, path: pathIn(path, name), old }
}

function pathIn(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** `anyOf`, `oneOf`, `allOf` and `not`. Their errors refer to the whole object. */
function combinationChecks(schema: JSONSchemaProps): readonly SchemaCheck[] {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema
  const checks: SchemaCheck[] = []
  if (anyOf.length > 0) checks.push(anyOfCheck(anyOf.map(checkOf)))
  if (oneOf.length > 0) checks.push(oneOfCheck(oneOf.map(checkOf)))
  if (allOf.length > 0) checks.push(allOfCheck(allOf.map(checkOf)))
  if (not !== undefined) checks.push(notCheck(checkOf(not)))
  return checks
}

function anyOfCheck(alternatives: readonly SchemaCheck[]): SchemaCheck {
  return ({ value, path }, errors) => {
    const failures = failuresOf(alternatives, { value, path })
    if (failures.some(each => each.length === 0)) return
    errors.push(combined(`${quote(path)} must validate at least one schema (anyOf)`), ...fewest(failures))
  }
}

function oneOfCheck(alternatives: readonly SchemaCheck[]): SchemaCheck {
  return ({ value, path }, errors) => {
    const failures = failuresOf(alternatives, { value, path })
    const valid = failures.filter(each => each.length === 0).length
    if (valid === 1) return
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`
    errors.push(combined(`${quote(path)} must validate one and only one schema (oneOf). ${found}`))
    if (valid === 0) errors.push(...fewest(failures))
  }
}

function allOfCheck(parts: readonly SchemaCheck[]): SchemaCheck {
  return ({ value, path }, errors) => {
    const failures = failuresOf(parts, { value, path })
    const failed = failures.filter(each => each.length > 0)
    if (failed.length === 0) return
    errors.push(...failed.flat())
    const none = failed.length === parts.length ? '. None validated' : ''
    errors.push(combined(`${quote(path)} must validate all the schemas (allOf)${none}`))
  }
}

function notCheck(check: SchemaCheck): SchemaCheck {
  return ({ value, path }, errors) => {
    const [failures = []] = failuresOf([check], { value, path })
    if (failures.length === 0) errors.push(combined(`${quote(path)} must not validate the schema (not)`))
  }
}

/** The errors of each alternative. Unchanged values are validated, too. */
function failuresOf(
  checks: readonly SchemaCheck[],
  { value, path }: Pick<Placed, 'value' | 'path'>,
): readonly (readonly FieldError[])[] {
  return checks.map(check => {
    const errors: FieldError[] = []
    check({ value, path, old: undefined }, errors)
    return errors
  })
}

/** The alternative that comes closest. */
function fewest(failures: readonly (readonly FieldError[])[]): readonly FieldError[] {
  return failures.reduce((best, each) => (each.length < best.length ? each : best), failures[0] ?? [])
}

/** An error that has no field of its own. */
function combined(detail: string): FieldError {
  return invalid('<nil>', '', detail)
}
