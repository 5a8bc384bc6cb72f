import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { isPrintable, sortedKeys } from './go-format.ts'

/**
 * A document in KYAML, the dialect of YAML between YAML and JSON: strings are in double quotes, maps in braces, and
 * every member of a map is on a line of its own.
 */
export function stringifyKyaml(value: JsonValue, { keysOf = sortedKeys }: KyamlOptions = {}): string {
  return `---\n${writeValue(value, { level: 0, keysOf })}\n`
}

interface KyamlOptions {
  /** The keys of a map in the order in which they are written, sorted by default. */
  readonly keysOf?: (map: JsonObject) => readonly string[]
}

interface Place extends Required<KyamlOptions> {
  /** Indentation of the line on which the value begins. */
  readonly level: number
}

function writeValue(value: JsonValue, place: Place): string {
  if (typeof value === 'string') return writeString(value, place.level + 1)
  if (Array.isArray(value)) return writeList(value, place)
  return isObject(value) ? writeMap(value, place) : String(value)
}

function writeMap(map: JsonObject, { level, keysOf }: Place): string {
  const margin = marginOf(level + 1)
  const members = keysOf(map).map(key => {
    return `${margin}${writeKey(key)}: ${writeValue(map[key] as JsonValue, { level: level + 1, keysOf })},\n`
  })
  return members.length === 0 ? '{}' : `{\n${members.join('')}${marginOf(level)}}`
}

/** The brackets of maps and lists in a list share their lines. */
function writeList(list: readonly JsonValue[], { level, keysOf }: Place): string {
  if (list.every(each => typeof each === 'object' && each !== null)) {
    return `[${list.map(each => writeValue(each, { level, keysOf })).join(', ')}]`
  }
  const margin = marginOf(level + 1)
  const items = list.map(each => `${margin}${writeValue(each, { level: level + 1, keysOf })},\n`)
  return `[\n${items.join('')}${marginOf(level)}]`
}

function marginOf(level: number): string {
  return '  '.repeat(level)
}

function writeKey(key: string): string {
  return isPlainKey(key) ? key : `"${escapeText(key).replaceAll('\t', '\\t').replaceAll('\n', '\\n')}"`
}

/** The lines of the text are lines of the output, too, aligned behind a space or a backslash. */
function writeString(text: string, level: number): string {
  if (!text.includes('\n')) return `"${escapeText(text)}"`
  const margin = marginOf(level)
  const lines = text.split('\n')
  const rest = lines.pop() ?? ''
  const folded = lines.map(line => `${margin}${align(line)}\\n\\\n`)
  if (rest !== '') folded.push(`${margin}${align(rest)}\\\n`)
  return `"\\\n${folded.join('')}${margin}"`
}

/** YAML ignores white space at the start of a line unless it is escaped. */
function align(line: string): string {
  return `${/^\s/.test(line) ? '\\' : ' '}${escapeText(line)}`
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0000': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\u001b': '\\e',
  '\u00a0': '\\_',
  '\u2028': '\\L',
  '\u2029': '\\P',
}

/** Escapes all but printable characters, tabs and newlines. */
function escapeText(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return text
  let escaped = ''
  for (const character of text.toWellFormed()) {
    const short = shortEscapes[character]
    if (short !== undefined) escaped += short
    else if (character === '\t' || character === '\n' || isPrintable(character)) escaped += character
    else escaped += escapeCode(character.codePointAt(0) ?? 0)
  }
  return escaped
}

function escapeCode(code: number): string {
  const digits = code.toString(16)
  if (code < 0x20) return `\\x${digits.padStart(2, '0')}`
  return code < 0x1_00_00 ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
}

/** Letters and digits that no YAML parser takes for another type than a string. */
function isPlainKey(key: string): boolean {
  if (!/^[\p{L}\p{N}_](?:[\p{L}\p{N}_\-./]*[\p{L}\p{N}_])?$/u.test(key)) return false
  return !word.test(key) && !isNumber(key.replaceAll('_', '')) && !isDate(key)
}

const word = /^(?:null|true|false|[tfyn]|yes|no|on|off)$/i

function isNumber(text: string): boolean {
  if (/^(?:inf|infinity|nan)$/i.test(text)) return true
  if (/^0x[0-9a-f]+\.?[0-9a-f]*p[-+]?\d+$/i.test(text)) return true
  if (/^(?:0x[0-9a-f]+|0b[01]+|0o[0-7]+)$/i.test(text)) return BigInt(text.toLowerCase()) < 2n ** 63n
  return /^\d+(?:\.\d*)?(?:e[-+]?\d+)?$/i.test(text) && Number.isFinite(Number(text))
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(text) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}
