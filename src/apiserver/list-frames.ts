/** The text formats of an object whose last part is a long list: lists have `items`, tables have `rows`. */
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compareNaturally } from '#/api/text/natural-order.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { ListFrame } from './joined-body.ts'
import type { Negotiated } from './negotiation.ts'
import type { StoredObject } from './registry/stored-object.ts'
import { prettyJson } from './view.ts'

export interface TextFrame {
  /** The object without the list. */
  readonly head: JsonObject
  /** Name of the list. */
  readonly name: string
  readonly objects: readonly StoredObject[]
  readonly value: (stored: StoredObject) => JsonValue
}

export function textFrame(frame: TextFrame, { format, pretty }: Negotiated): ListFrame {
  if (format === 'yaml') return yamlFrame(frame)
  if (pretty) return prettyFrame(frame)
  const item = (stored: StoredObject): Uint8Array => Buffer.from(stringifyJson(frame.value(stored)))
  return jsonFrame(frame, (stored, index) => [index > 0 ? ',' : '', item(stored)])
}

/** With pieces of each object that include the comma after the one before. */
export function jsonFrame(
  { head, name }: Pick<TextFrame, 'head' | 'name'>,
  item: ListFrame['item'],
): ListFrame {
  const start = Buffer.from(`${stringifyJson(head).slice(0, -1)},"${name}":[`)
  return { start, item, end: Buffer.from(']}\n') }
}

/** A transformed list without objects has null. */
export function nullFrame(
  { head, name }: Pick<TextFrame, 'head' | 'name'>,
  { format, pretty }: Negotiated,
): ListFrame {
  const list = { ...head, [name]: null }
  const json = pretty ? prettyJson(list) : stringifyJson(list)
  const start = Buffer.from(format === 'yaml' ? stringifyYaml(list) : `${json}\n`)
  return { start, item: () => [], end: Buffer.alloc(0) }
}

function prettyFrame({ head, name, objects, value }: TextFrame): ListFrame {
  const item: ListFrame['item'] = (stored, index) => {
    const lines = prettyJson(value(stored)).replaceAll('\n', '\n    ')
    return [Buffer.from(`${index > 0 ? ',' : ''}\n    ${lines}`)]
  }
  const start = Buffer.from(`${prettyJson(head).slice(0, -2)},\n  "${name}": [`)
  return { start, item, end: Buffer.from(objects.length > 0 ? '\n  ]\n}\n' : ']\n}\n') }
}

/** Keys are sorted, and lists are not indented. */
function yamlFrame({ head, name, objects, value }: TextFrame): ListFrame {
  const lines = (isWanted: (order: number) => boolean): string => {
    const kept = Object.entries(head).filter(([key]) => isWanted(compareNaturally(key, name)))
    return kept.length > 0 ? stringifyYaml(Object.fromEntries(kept)) : ''
  }
  return {
    start: Buffer.from(`${lines(order => order < 0)}${name}:${objects.length > 0 ? '\n' : ' []\n'}`),
    item: stored => [Buffer.from(stringifyYaml([value(stored)]))],
    end: Buffer.from(lines(order => order > 0)),
  }
}
