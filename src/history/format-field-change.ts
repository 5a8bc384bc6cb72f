/** Changes of fields as text: `~ spec.replicas: 2 -> 3`. Values come from the cluster and may contain anything. */
import type { FieldChange } from './diff-objects.ts'
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

export function formatFieldChange({ path, before, after }: FieldChange): string {
  const name = escapeControlCharacters(shorten(path, pathMax))
  if (before === undefined) return `+ ${name}: ${formatValue(after ?? null)}`
  if (after === undefined) return `- ${name}: ${formatValue(before)}`
  const start = differingStart(before, after)
  return `~ ${name}: ${formatValue(before, start)} -> ${formatValue(after, start)}`
}

/** The last field, for a summary on one line: `image: "web:1" -> "web:2"`. */
export function summarizeFieldChange(change: FieldChange): string {
  const text = formatFieldChange(change).slice(2)
  const mark = change.before === undefined ? '+' : change.after === undefined ? '-' : ''
  const field = /^(?:metadata|spec\.template\.spec|spec)\.(?=.)/.exec(text)?.[0] ?? ''
  return `${mark}${text.slice(field.length)}`
}

const pathMax = 300
const valueMax = 100

/** Long texts are shown from shortly before `start`. */
function formatValue(value: JsonValue, start = 0): string {
  if (typeof value === 'string' && start > 0) {
    return escapeControlCharacters(`...${shorten(JSON.stringify(value.slice(start)), valueMax)}`)
  }
  const text =
    typeof value === 'bigint'
      ? value.toString()
      : JSON.stringify(value, (_name, each: unknown) => (typeof each === 'bigint' ? Number(each) : each))
  return escapeControlCharacters(shorten(text, valueMax))
}

const sharedShown = 20

/** 0 unless the texts differ only behind what is shown of them. */
function differingStart(before: JsonValue, after: JsonValue): number {
  if (typeof before !== 'string' || typeof after !== 'string') return 0
  if (before.length <= valueMax && after.length <= valueMax) return 0
  let index = 0
  while (index < before.length && before[index] === after[index]) index++
  return index < valueMax / 2 ? 0 : index - sharedShown
}

function shorten(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
}
