/**
 * Formats strings and values for Kubernetes' messages. Strings are quoted as in Go, since clients and tests
 * match on whole messages: a control character is `\x07`, not `\u0007`, and letters of all languages are
 * kept.
 */

/** In double quotes, with unprintable characters escaped. */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : `"${escapeText(text)}"`
}

/**
 * Formats a value for an error message: a string quoted, anything else as JSON. Beyond the limit it is
 * truncated and ends with `...`; the rest of the value is not traversed.
 */
export function showValue(value: unknown, charactersMax: number): string {
  if (typeof value === 'string') {
    return value.length > charactersMax ? `${quote(cut(value, charactersMax))}...` : quote(value)
  }
  const writer: Writer = { text: '', charactersMax }
  writeJson(value, writer)
  return writer.text.length > charactersMax ? `${cut(writer.text, charactersMax)}...` : writer.text
}

/** As Go prints values: `map[data:map[a:b]]`. */
export function formatGoValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatGoValue).join(' ')}]`
  if (value === null || value === undefined) return '<nil>'
  if (typeof value === 'string') return value
  if (typeof value === 'bigint') return `${value}`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, each]) => `${key}:${formatGoValue(each)}`)
  return `map[${members.join(' ')}]`
}

/** Printable ASCII except quotation mark and backslash: nothing to escape. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
/**
 * The characters that Go prints unescaped: letters, marks, numbers, punctuation, symbols and the ASCII space.
 */
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u
const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
])

function escapeText(text: string): string {
  let escaped = ''
  for (const character of text.toWellFormed()) {
    const short = shortEscapes.get(character)
    if (short !== undefined) escaped += short
    else if (printable.test(character)) escaped += character
    else escaped += escapeCode(character.codePointAt(0) ?? 0)
  }
  return escaped
}

function escapeCode(code: number): string {
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`
  return `\\U${code.toString(16).padStart(8, '0')}`
}

function cut(text: string, charactersMax: number): string {
  const last = text.charCodeAt(charactersMax - 1)
  const splitsPair = last >= 0xd800 && last < 0xdc00
  return text.slice(0, splitsPair ? charactersMax - 1 : charactersMax)
}

interface Writer {
  text: string
  readonly charactersMax: number
}

/** Every level writes at least one character, so the limit bounds the depth too. */
function writeJson(value: unknown, writer: Writer): void {
  if (writer.text.length > writer.charactersMax) return
  if (typeof value === 'bigint') writer.text += value.toString()
  else if (typeof value === 'string') writer.text += jsonText(value, writer)
  else if (Array.isArray(value)) writeList(value, writer)
  else if (typeof value === 'object' && value !== null) writeMap(value, writer)
  else writer.text += JSON.stringify(value) ?? 'null'
}

function writeList(list: readonly unknown[], writer: Writer): void {
  writer.text += '['
  for (let index = 0; index < list.length && writer.text.length <= writer.charactersMax; index++) {
    if (index > 0) writer.text += ','
    writeJson(list[index], writer)
  }
  writer.text += ']'
}

function writeMap(map: object, writer: Writer): void {
  writer.text += '{'
  let first = true
  for (const [key, value] of Object.entries(map)) {
    if (writer.text.length > writer.charactersMax) break
    if (value === undefined) continue
    writer.text += `${first ? '' : ','}${jsonText(key, writer)}:`
    first = false
    writeJson(value, writer)
  }
  writer.text += '}'
}

/** Go's JSON encoder escapes characters that could end an HTML script element. */
function jsonText(text: string, writer: Writer): string {
  const shown = text.length > writer.charactersMax ? text.slice(0, writer.charactersMax + 1) : text
  return JSON.stringify(shown.toWellFormed()).replace(/[<>&\u2028\u2029]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
