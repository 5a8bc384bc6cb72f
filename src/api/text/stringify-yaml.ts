/**
 * Prints values as `kubectl get -o yaml` does: keys in natural order, lists not indented under their key,
 * quotes only where needed, multi-line strings as blocks, lines folded after eighty columns. `parseYaml`
 * returns the same value.
 */
import type { JsonValue } from './json-value.ts'
import { compareNaturally } from './natural-order.ts'
import { isObject, type JsonObject } from './json-object.ts'
import { formatFloat } from './yaml-scalar.ts'
import { writeYamlString, type ScalarPosition } from './yaml-string.ts'

export function stringifyYaml(value: JsonValue): string {
  if (isObject(value) && !isEmpty(value)) return mapLines(value, 0, '')
  if (Array.isArray(value) && value.length > 0) return listLines(value, 0, '')
  return `${scalar(value, { indent: 2, column: 0, place: 'root' })}\n`
}

/** Maximum length in bytes of a simple key in YAML. */
const simpleKeyBytesMax = 128

/** The lines of a map; `lead` replaces the indentation of the first line, as in `- a: 1`. */
function mapLines(map: JsonObject, indent: number, lead: string): string {
  const margin = ' '.repeat(indent)
  let lines = ''
  for (const key of Object.keys(map).sort(compareNaturally)) {
    const start = lines === '' && lead !== '' ? lead : margin
    lines += start + member(key, map[key] as JsonValue, indent)
  }
  return lines
}

function member(key: string, value: JsonValue, indent: number): string {
  if (Buffer.byteLength(key) > simpleKeyBytesMax || /[\r\n]/.test(key)) {
    const text = writeYamlString(key, { indent: indent + 2, column: indent + 2, place: 'value' })
    return `? ${text}${text.endsWith('\n') ? '' : '\n'}${' '.repeat(indent)}${item(value, indent, ':')}`
  }
  const name = writeYamlString(key, { indent: indent + 2, column: indent, place: 'key' })
  if (isObject(value) && !isEmpty(value)) return `${name}:\n${mapLines(value, indent + 2, '')}`
  // Lists are not indented under their key.
  if (Array.isArray(value) && value.length > 0) return `${name}:\n${listLines(value, indent, '')}`
  return line(`${name}: `, value, indent)
}

function listLines(list: readonly JsonValue[], indent: number, lead: string): string {
  const margin = ' '.repeat(indent)
  let lines = ''
  for (const value of list) lines += (lines === '' && lead !== '' ? lead : margin) + item(value, indent, '-')
  return lines
}

/**
 * A value after `-`, or after the `:` of a long key; the first line of a map or list follows on the same
 * line.
 */
function item(value: JsonValue, indent: number, indicator: string): string {
  if (isObject(value) && !isEmpty(value)) return mapLines(value, indent + 2, `${indicator} `)
  if (Array.isArray(value) && value.length > 0) return listLines(value, indent + 2, `${indicator} `)
  return line(`${indicator} `, value, indent)
}

function line(head: string, value: JsonValue, indent: number): string {
  const text = scalar(value, { indent: indent + 2, column: indent + head.length, place: 'value' })
  return text.endsWith('\n') ? head + text : `${head}${text}\n`
}

function scalar(value: JsonValue, position: ScalarPosition): string {
  if (typeof value === 'string') return writeYamlString(value, position)
  if (typeof value === 'number') {
    return Number.isInteger(value) && Math.abs(value) < 2 ** 64 ? String(value) : formatFloat(value)
  }
  if (Array.isArray(value)) return '[]'
  return isObject(value) ? '{}' : String(value)
}

function isEmpty(map: JsonObject): boolean {
  for (const key in map) if (Object.hasOwn(map, key)) return false
  return true
}
