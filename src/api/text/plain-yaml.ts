/**
 * A fast parser for the YAML that most manifests and kubeconfigs consist of: block maps and lists with one-line
 * scalars. Everything else, such as block scalars, flow collections, anchors, comments after a value or an error, is
 * left to the complete parser in `yaml.ts`, whose results for the rest are the same.
 */
import type { JsonObject } from './json-object.ts'
import type { JsonValue } from './json-value.ts'
import { resolvePlainScalar } from './yaml-scalar.ts'

/** The documents of a text, null for empty ones; undefined if the complete parser is needed. */
export function parsePlainYaml(text: string): readonly JsonValue[] | undefined {
  if (unusualCharacters.test(text)) return undefined
  const documents: JsonValue[] = []
  let lines: Line[] = []
  /** True after a marker: what follows is a document, even if it is empty. */
  let isMarked = false
  const isComplete = (): boolean => {
    const value = lines.length > 0 ? new BlockParser(lines).parse() : null
    if (value === undefined) return false
    if (lines.length > 0 || isMarked) documents.push(value)
    lines = []
    return true
  }
  for (const source of text.split('\n')) {
    const content = source.trimStart()
    if (source === '---') {
      if (!isComplete()) return undefined
      isMarked = true
    } else if (content.startsWith('---') || content.startsWith('...')) return undefined
    else if (content !== '' && !content.startsWith('#')) {
      lines.push({ indent: source.length - content.length, content: content.trimEnd() })
    }
  }
  return isComplete() ? documents : undefined
}

/** Tabs, carriage returns, other control characters, line separators and the byte order mark. */
// oxlint-disable-next-line no-control-regex -- these characters are looked for
const unusualCharacters = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/

interface Line {
  readonly indent: number
  /** Without the indentation and spaces at the end. */
  readonly content: string
}

/** Deeper documents are left to the complete parser, which has its own limit. */
const depthMax = 100

/** A member of a map: the key and, on the same line, a scalar. Keys that are not strings in YAML do not match. */
const member = /^([A-Za-z_][\w./-]*|"[\w ./-]*"):(?: +(.*))?$/

/** Undefined stands for what this parser does not understand. */
class BlockParser {
  /** The first line of an item becomes that of its block. */
  readonly #lines: Line[]
  #at = 0
  #depth = 0

  constructor(lines: Line[]) {
    this.#lines = lines
  }

  parse(): JsonValue | undefined {
    const value = this.#block(this.#lines[0]!.indent)
    return this.#at === this.#lines.length ? value : undefined
  }

  #block(indent: number): JsonValue | undefined {
    if (++this.#depth > depthMax) return undefined
    const { content } = this.#lines[this.#at]!
    const value = isItem(content) ? this.#list(indent) : this.#map(indent)
    this.#depth--
    return value
  }

  #map(indent: number): JsonObject | undefined {
    const map: JsonObject = {}
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at]!
      if (line.indent < indent) return map
      const [, written = '', text] = (line.indent === indent && member.exec(line.content)) || []
      const key = written.startsWith('"') ? written.slice(1, -1) : written
      // The complete parser reports duplicate keys, and decides about words such as `yes`.
      if (written === '' || key === '__proto__' || Object.hasOwn(map, key)) return undefined
      if (key === written && typeof resolvePlainScalar(key) !== 'string') return undefined
      this.#at++
      const value = text === undefined || text === '' ? this.#nested(indent) : scalar(text)
      if (value === undefined) return undefined
      map[key] = value
    }
    return map
  }

  /** The value of a key without a scalar: a deeper block, a list with the same indentation, or null. */
  #nested(indent: number): JsonValue | undefined {
    const next = this.#lines[this.#at]
    if (next === undefined || next.indent < indent) return null
    if (next.indent > indent) return this.#block(next.indent)
    return isItem(next.content) ? this.#list(indent) : null
  }

  #list(indent: number): JsonValue[] | undefined {
    const list: JsonValue[] = []
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at]!
      if (line.indent < indent || (line.indent === indent && !isItem(line.content))) return list
      if (line.indent > indent) return undefined
      const value = this.#item(line)
      if (value === undefined) return undefined
      list.push(value)
    }
    return list
  }

  #item({ indent, content }: Line): JsonValue | undefined {
    const text = content.slice(1).trimStart()
    if (text === '') {
      this.#at++
      const next = this.#lines[this.#at]
      return next === undefined || next.indent <= indent ? null : this.#block(next.indent)
    }
    if (!isItem(text) && !member.test(text)) {
      this.#at++
      return scalar(text)
    }
    // The rest of the line is the first one of a block, which begins after the dash.
    const inner = indent + content.length - text.length
    this.#lines[this.#at] = { indent: inner, content: text }
    return this.#block(inner)
  }
}

function isItem(content: string): boolean {
  return content === '-' || content.startsWith('- ')
}

/** Undefined for a scalar that may continue on the next line, or that is anything but a plain or quoted text. */
function scalar(text: string): JsonValue | undefined {
  if (text === '{}') return {}
  if (text === '[]') return []
  if (text.startsWith('"')) return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : undefined
  if (text.startsWith("'")) return /^'[^']*'$/.test(text) ? text.slice(1, -1) : undefined
  if (!/^[\w/.+=~$()<\\;^-]/.test(text) || /^-(?: |$)|: |:$| #/.test(text)) return undefined
  const value = resolvePlainScalar(text)
  return typeof value === 'number' && !Number.isFinite(value) ? undefined : value
}
