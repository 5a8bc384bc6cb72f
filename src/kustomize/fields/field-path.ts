import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compileRegularExpression } from '#/base/regular-expression.ts'
import { textOf, wrongKind, type NodeKind } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'

/** A place of a value in its parent, so that the value can be replaced. */
export interface Slot {
  get(): JsonValue
  set(value: JsonValue): void
}

/**
 * The value at a path of field names, indexes, `-` for the last item, and `[name=value]` for the item with this
 * field; undefined if it does not exist.
 */
export function lookUp(root: JsonValue, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = root
  for (const part of path.map(each => each.trim()).filter(each => each !== '')) {
    if (value === undefined || value === null) return undefined
    value = child(value, part)
  }
  return value
}

function child(value: JsonValue, part: string): JsonValue | undefined {
  if (/^[-+]?\d+$/.test(part)) {
    if (Number(part) < 0) throw new KustomizeError(`array index ${Number(part)} cannot be negative`)
    return listOf(value)[Number(part)]
  }
  if (part === '-') return listOf(value).at(-1)
  if (part === '*') throw new KustomizeError('wildcard is not supported in PathGetter')
  if (isItemSelector(part)) {
    const { field, text } = splitItemSelector(part)
    return listOf(value).find(item => textOf(field === '' ? item : memberOf(item, field)) === text)
  }
  if (!isObject(value)) throw wrongKind('MappingNode', value)
  return get(value, part)
}

function listOf(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value
  throw wrongKind('SequenceNode', value)
}

function memberOf(value: JsonValue, field: string): JsonValue | undefined {
  return isObject(value) ? get(value, field) : undefined
}

function isItemSelector(part: string): boolean {
  return part.startsWith('[') && part.endsWith(']')
}

function splitItemSelector(part: string): { readonly field: string; readonly text: string } {
  const content = part.replace(/^\[/, '').replace(/\]$/, '')
  const equals = content.indexOf('=')
  if (equals === -1) {
    throw new KustomizeError('list path element must contain fieldName=fieldValue for element to match')
  }
  return { field: content.slice(0, equals), text: content.slice(equals + 1) }
}

/**
 * All places that match a path: `*` is every item, and the value of `[name=value]` a regular expression. With a
 * kind to create, missing fields and items are added.
 */
export function findSlots(slot: Slot, path: readonly string[], createKind?: NodeKind): Slot[] {
  const [part, ...rest] = path
  if (part === undefined) return [slot]
  if (/^\+?\d+$/.test(part)) return atIndex(slot, path, createKind)
  if (isItemSelector(part)) return selectedItems(slot, path, createKind)
  if (part === '*') return itemSlots(slot).flatMap(item => findSlots(item, rest, createKind))
  const value = slot.get()
  if (value === null) return []
  if (!isObject(value)) throw wrongKind('MappingNode', value)
  if (!Object.hasOwn(value, part)) {
    if (createKind === undefined) return []
    put(value, part, emptyOf(kindOfNext(rest, createKind)))
  }
  return findSlots(memberSlot(value, part), rest, createKind)
}

function atIndex(slot: Slot, [part, ...rest]: readonly string[], createKind?: NodeKind): Slot[] {
  const index = Number(part)
  const items = itemsOf(slot)
  if (items.length === index && createKind !== undefined) items.push(emptyOf(kindOfNext(rest, createKind)))
  if (index >= items.length) {
    throw new KustomizeError(`index ${index} specified but only ${items.length} elements found`)
  }
  return findSlots(itemSlot(items, index), rest, createKind)
}

function selectedItems(slot: Slot, [part = '', ...rest]: readonly string[], createKind?: NodeKind): Slot[] {
  const { field, text } = splitItemSelector(part)
  const expression = compileRegularExpression(text)
  const find = () =>
    itemSlots(slot).flatMap(item => {
      if (field === '') return expression.test(textOf(item.get())) ? [item] : []
      const value = memberOf(item.get(), field)
      if (value === undefined || !expression.test(textOf(value))) return []
      return findSlots(item, rest, createKind)
    })
  const found = find()
  if (found.length > 0 || createKind === undefined) return found
  const items = itemsOf(slot)
  if (field === '') {
    // What is created has no type yet.
    items.push(null)
    return [itemSlot(items, items.length - 1)]
  }
  items.push({ [field]: text })
  const added = find()
  // The text is a regular expression, which need not match itself.
  if (added.length === 0) items.pop()
  return added
}

export function memberSlot(map: JsonObject, key: string): Slot {
  return { get: () => get(map, key) ?? null, set: value => put(map, key, value) }
}

function itemSlot(items: JsonValue[], index: number): Slot {
  return {
    get: () => items[index] ?? null,
    set: value => {
      items[index] = value
    },
  }
}

function itemSlots(slot: Slot): Slot[] {
  const items = itemsOf(slot)
  return items.map((_item, index) => itemSlot(items, index))
}

/** A field that was created for items is a list; null has no items. */
function itemsOf(slot: Slot): JsonValue[] {
  const value = slot.get()
  if (value === null) return []
  return listOf(value)
}

function kindOfNext([next = '']: readonly string[], last: NodeKind): NodeKind {
  if (next === '') return last
  return isItemSelector(next) || /^\+?\d+$/.test(next) ? 'SequenceNode' : 'MappingNode'
}

/** A scalar that is created has no type yet. */
function emptyOf(kind: NodeKind): JsonValue {
  return kind === 'SequenceNode' ? [] : kind === 'MappingNode' ? {} : null
}
