import { get, isObject } from '#/api/text/json-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compareText } from './value.ts'

/**
 * JSON as Go writes it: keys sorted as texts, also those that are numbers, and safe within HTML. With an
 * indentation, every member is on a line of its own.
 */
export function goJson(value: JsonValue, indentation = '', margin = ''): string {
  const inner = margin + indentation
  const brackets = (open: string, parts: readonly string[], close: string): string => {
    if (parts.length === 0) return open + close
    if (indentation === '') return `${open}${parts.join(',')}${close}`
    return `${open}\n${parts.map(part => inner + part).join(',\n')}\n${margin}${close}`
  }
  if (Array.isArray(value))
    return brackets(
      '[',
      value.map(item => goJson(item, indentation, inner)),
      ']',
    )
  if (isObject(value)) {
    const colon = indentation === '' ? ':' : ': '
    const keys = Object.keys(value).sort(compareText)
    const members = keys.map(
      key => `${goJson(key)}${colon}${goJson(get(value, key) ?? null, indentation, inner)}`,
    )
    return brackets('{', members, '}')
  }
  return stringifyJson(value).replaceAll(/[<>&\u2028\u2029]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
