import { jsonOf } from '#/api/metadata.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { formatGoValue } from '#/api/text/quote.ts'
import type { Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { describeEvents } from './sections/events.ts'
import { describeAnnotations, describeLabels, sortedKeys } from './sections/metadata.ts'

/** All fields of an object whose kind is not known. */
export const describeGeneric: Describer = async (object, context) => {
  const { writer } = context
  const { name = '', namespace = '' } = object.metadata
  writer.fields(0, [
    ['Name', name],
    ['Namespace', namespace],
  ])
  describeLabels(writer, object)
  describeAnnotations(writer, object)
  describeContent(writer, jsonOf(object), { level: 0, path: '' })
  await describeEvents(object, context)
}

interface Place {
  readonly level: number
  /** `.metadata`. */
  readonly path: string
}

const shownAbove: ReadonlySet<string> = new Set([
  '.metadata.annotations',
  '.metadata.labels',
  '.metadata.managedFields',
  '.metadata.name',
  '.metadata.namespace',
])

/** Terminates, since decoded JSON has a bounded depth. */
function describeContent(writer: DescribeWriter, content: JsonObject, { level, path }: Place): void {
  for (const key of sortedKeys(content)) {
    const place = { level: level + 1, path: `${path}.${key}` }
    if (shownAbove.has(place.path)) continue
    const label = labelOf(key)
    const value: JsonValue | undefined = content[key]
    if (isObject(value)) {
      writer.write(level, `${label}:\n`)
      describeContent(writer, value, place)
    } else if (Array.isArray(value)) {
      writer.write(level, `${label}:\n`)
      for (const item of value) {
        if (isObject(item)) describeContent(writer, item, place)
        else writer.write(place.level, `${formatGoValue(item)}\n`)
      }
    } else {
      writer.fields(level, [[label, formatGoValue(value)]])
    }
  }
}

/** `Container ID` for `containerId`; keys that are not words remain as they are. */
function labelOf(key: string): string {
  if (!/^[\p{L}-]*$/u.test(key)) return key
  return (key.match(keyParts) ?? []).map(partText).join(' ')
}

/**
 * Words, and abbreviations of capital letters. An abbreviation of at least two capitals remains with a capitalized
 * word behind it: `CIDRs` is one part, `podIPs` two.
 */
const keyParts = /\p{Lu}{3,}\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[^\p{Lu}\p{Ll}]+/gu

const abbreviations: ReadonlySet<string> = new Set(['API', 'URL', 'UID', 'GUID'])

function partText(part: string): string {
  const upper = part.toUpperCase()
  if (abbreviations.has(upper)) return upper
  return part === part.toLowerCase() ? part.replace(/^\p{L}/u, letter => letter.toUpperCase()) : part
}
