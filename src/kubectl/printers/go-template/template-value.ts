import type { JsonValue } from '#/api/text/json-value.ts'
import { bytesOfText } from '../byte-text.ts'
import { GoNumber, isFloat, isNumber, type GoValue } from '../go-format.ts'

/**
 * A member of a map or an item of a list. Messages name its type `interface {}`, and only such a value can be nil. A
 * pipeline and a variable hold the value inside.
 */
export class Boxed {
  readonly value: JsonValue

  constructor(value: JsonValue) {
    this.value = value
  }
}

/** `undefined` is the value of a missing key. */
export type TemplateValue = Exclude<GoValue, null> | Boxed

/** The value without its box. */
export function unbox(value: TemplateValue): Exclude<GoValue, null> {
  return value instanceof Boxed ? (value.value ?? undefined) : value
}

export function isNil(value: TemplateValue): boolean {
  return unbox(value) === undefined
}

export function isTrue(value: TemplateValue): boolean {
  const inner = unbox(value)
  if (isNumber(inner)) return Number(numberOf(inner)) !== 0
  if (typeof inner !== 'object') return Boolean(inner)
  return (Array.isArray(inner) ? inner : Object.keys(inner)).length > 0
}

export function isMap(value: TemplateValue): value is { [key: string]: JsonValue } {
  if (typeof value !== 'object' || Array.isArray(value)) return false
  return !(value instanceof Boxed) && !(value instanceof GoNumber)
}

/** Number of items, members or bytes. */
export function lengthOf(value: TemplateValue): number | undefined {
  if (typeof value === 'string') return bytesOfText(value).length
  if (Array.isArray(value)) return value.length
  return isMap(value) ? Object.keys(value).length : undefined
}

export function numberOf(value: number | bigint | GoNumber): number | bigint {
  return value instanceof GoNumber ? value.value : value
}

export function toInteger(value: TemplateValue): bigint | undefined {
  return isNumber(value) && !isFloat(value) ? BigInt(numberOf(value)) : undefined
}

export function integer(value: number | bigint): GoNumber {
  return new GoNumber('int', BigInt(value))
}
