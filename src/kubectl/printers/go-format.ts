/**
 * Values as Go's packages `fmt` and `encoding/json` print them, which kubectl's output formats expose. JSON integers
 * that fit into 64 bits have the type int64, all other numbers float64. The depth of values is bounded by `parseJson`.
 */
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { formatFloat } from '#/api/text/yaml-scalar.ts'

/** A number with a type that JSON cannot express: literals of templates, lengths, indexes and bytes. */
export class GoNumber {
  readonly type: 'int' | 'uint8' | 'float64'
  readonly value: number | bigint

  constructor(type: 'int' | 'uint8' | 'float64', value: number | bigint) {
    this.type = type
    this.value = value
  }
}

/** `undefined` is Go's invalid value, which is different from nil. */
export type GoValue = JsonValue | GoNumber | undefined

export function isNumber(value: unknown): value is number | bigint | GoNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof GoNumber
}

export function isFloat(value: number | bigint | GoNumber): boolean {
  if (value instanceof GoNumber) return value.type === 'float64'
  return typeof value === 'number' && !(Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63)
}

/** The name of the type: `map[string]interface {}`. */
export function typeOf(value: GoValue): string {
  if (value === null || value === undefined) return 'interface {}'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (value instanceof GoNumber) return value.type
  if (typeof value === 'number' || typeof value === 'bigint') return isFloat(value) ? 'float64' : 'int64'
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
}

/** `%v`: `map[a:1 b:[x y]]`. */
export function formatValue(value: GoValue): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return '<nil>'
  if (value instanceof GoNumber) return formatNumber(value)
  if (Array.isArray(value)) return `[${value.map(formatValue).join(' ')}]`
  if (typeof value !== 'object') return typeof value === 'boolean' ? String(value) : formatNumber(value)
  const members = sortedKeys(value).map(key => `${key}:${formatValue(value[key])}`)
  return `map[${members.join(' ')}]`
}

/** `%#v`: `map[string]interface {}{"a":1}`. */
export function formatSyntax(value: GoValue): string {
  if (typeof value === 'string') return quote(value)
  if (value === null) return 'interface {}(nil)'
  if (value === undefined) return '<nil>'
  if (value instanceof GoNumber)
    return value.type === 'uint8' ? `0x${value.value.toString(16)}` : formatNumber(value)
  if (Array.isArray(value)) return `${typeOf(value)}{${value.map(formatSyntax).join(', ')}}`
  if (typeof value !== 'object') return formatValue(value)
  const members = sortedKeys(value).map(key => `${quote(key)}:${formatSyntax(value[key])}`)
  return `${typeOf(value)}{${members.join(', ')}}`
}

function formatNumber(number: number | bigint | GoNumber): string {
  const value = number instanceof GoNumber ? number.value : number
  if (!isFloat(number)) return BigInt(value).toString()
  return Object.is(value, -0) ? '-0' : formatFloat(Number(value))
}

/**
 * JSON with sorted keys, and with the characters escaped that could end an HTML script element. With an indentation,
 * each member is on a line of its own.
 */
export function formatJson(value: JsonValue, indent = ''): string {
  return writeJson(value, indent, indent === '' ? '' : '\n')
}

/** `margin` begins a line. */
function writeJson(value: JsonValue, indent: string, margin: string): string {
  if (typeof value === 'string') return escapeHtml(JSON.stringify(value.toWellFormed()))
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = margin + indent
  if (Array.isArray(value)) {
    const items = value.map(each => inner + writeJson(each, indent, inner))
    return items.length === 0 ? '[]' : `[${items.join(',')}${margin}]`
  }
  const colon = indent === '' ? ':' : ': '
  const members = sortedKeys(value).map(key => {
    return inner + writeJson(key, '', '') + colon + writeJson(value[key] as JsonValue, indent, inner)
  })
  return members.length === 0 ? '{}' : `{${members.join(',')}${margin}}`
}

function escapeHtml(text: string): string {
  return text.replace(/[<>&\u2028\u2029]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export function sortedKeys(map: JsonObject): string[] {
  return Object.keys(map).sort(compareText)
}

/** Orders as the bytes of UTF-8 do. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return rankOf(left) - rankOf(right)
  }
  return a.length - b.length
}

/** Surrogates, which encode the highest code points, follow all other units. */
function rankOf(unit: number): number {
  return unit >= 0xd8_00 && unit < 0xe0_00 ? unit + 0x1_00_00 : unit
}

/** `U+0026 '&'`; a character that is not printable has only its number. */
export function nameCharacter(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return isPrintable(character) ? `U+${code} '${character}'` : `U+${code}`
}

export function isPrintable(character: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)
}
