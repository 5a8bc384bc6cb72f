import { parseJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

/**
 * The JSON objects that follow each other in a text. Undefined if the text is not JSON, but may be YAML in flow style.
 * Throws DecodeError if an object is not closed.
 */
export function parseJsonStream(text: string): readonly JsonValue[] | undefined {
  const values: JsonValue[] = []
  for (let start = skipSpace(text, 0); start < text.length;) {
    if (text[start] !== '{') return undefined
    const end = endOfObject(text, start)
    const one = text.slice(start, end)
    try {
      values.push(parseJson(one))
    } catch (error) {
      if (values.length > 0 || end === undefined) throw error
      return undefined
    }
    start = skipSpace(text, end ?? text.length)
  }
  return values
}

function skipSpace(text: string, from: number): number {
  let index = from
  while (index < text.length && /\s/.test(text[index]!)) index++
  return index
}

/** The index after the closing brace; undefined if there is none. */
function endOfObject(text: string, from: number): number | undefined {
  const token = /"(?:[^"\\]|\\[^])*"?|[{}]/g
  token.lastIndex = from
  let depth = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '{') depth++
    else if (match[0] === '}' && --depth === 0) return token.lastIndex
  }
  return undefined
}
