/**
 * Merges an applied configuration into the live object: nothing is removed, and the configuration wins where
 * both have a value. Unchanged parts are shared with the live object, which is returned itself if nothing
 * changes.
 */
import { equalJson, type JsonValue } from '../text/json-value.ts'
import type { ListSchema, Schema } from '../schema.ts'
import type { PathElement } from './path-element.ts'
import {
  asList,
  asMap,
  checkDepth,
  childSchema,
  isGranularList,
  isGranularMap,
  itemElements,
  setValue,
  valueAt,
  type JsonObject,
} from './structure.ts'

/** Throws TypedValueError. */
export function mergeValues(schema: Schema, live: JsonValue, applied: JsonValue): JsonValue {
  return merge(schema, { live, applied, depth: 0 })
}

/** The values at one place of the object. */
interface Place<Live = JsonValue> {
  readonly live: Live
  readonly applied: JsonValue
  readonly depth: number
}

function merge(schema: Schema, { live, applied, depth }: Place): JsonValue {
  checkDepth(depth)
  if (live === applied) return live
  const map = asMap(live)
  if (map !== undefined && isGranularMap(schema) && !isEmptyObject(map)) {
    return mergeMap(schema, { live: map, applied, depth })
  }
  const list = asList(live)
  if (list !== undefined && isGranularList(schema) && list.length > 0) {
    return mergeList(schema, { live: list, applied, depth })
  }
  return equalJson(live, applied) ? live : applied
}

/** A null in the configuration owns the field but keeps the live value. */
function mergeMap(schema: Schema, { live, applied, depth }: Place<JsonObject>): JsonValue {
  if (applied === null) return live
  const changes = asMap(applied)
  if (changes === undefined) return applied
  let merged: JsonObject | undefined
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) continue
    const before = valueAt(live, key)
    const child = childSchema(schema, key)
    const after =
      before === undefined ? value : merge(child, { live: before, applied: value, depth: depth + 1 })
    if (after === before) continue
    merged ??= { ...live }
    setValue(merged, key, after)
  }
  return merged ?? live
}

function isEmptyObject(map: JsonObject): boolean {
  return Object.keys(map).length === 0
}

/**
 * Applied items keep the order of the configuration. An item that is only in the live list stays after the
 * items it followed there, and before items that are only in the configuration.
 */
function mergeList(schema: ListSchema, { live, applied, depth }: Place<JsonValue[]>): JsonValue {
  if (applied === null) return live
  const changes = asList(applied)
  if (changes === undefined) return applied
  const liveElements = itemElements(schema, live)
  const appliedElements = itemElements(schema, changes)
  const liveItems = indexItems(live, liveElements)
  const inApplied = new Set(appliedElements)
  const merged: JsonValue[] = []
  let position = 0
  const takeLiveOnlyUpTo = (shared: PathElement | undefined): void => {
    for (; position < live.length && liveElements[position] !== shared; position++) {
      if (!inApplied.has(liveElements[position] ?? '')) merged.push(live[position] ?? null)
    }
  }
  const nextShared = sharedAtOrAfter(appliedElements, liveItems)
  for (const [index, element] of appliedElements.entries()) {
    takeLiveOnlyUpTo(nextShared[index])
    const item = changes[index] ?? null
    const before = liveItems.get(element)
    if (before === undefined) merged.push(item)
    else merged.push(merge(schema.items, { live: before, applied: item, depth: depth + 1 }))
    if (liveElements[position] === element) position++
  }
  takeLiveOnlyUpTo(undefined)
  return sameItems(merged, live) ? live : merged
}

/**
 * Items by path element. Duplicates are represented by null, so that the applied item replaces all of them.
 */
function indexItems(
  items: readonly JsonValue[],
  elements: readonly PathElement[],
): Map<PathElement, JsonValue> {
  const index = new Map<PathElement, JsonValue>()
  for (const [position, element] of elements.entries()) {
    index.set(element, index.has(element) ? null : (items[position] ?? null))
  }
  return index
}

/** For each applied item, the first item at or after it that is also in the live list. */
function sharedAtOrAfter(
  elements: readonly PathElement[],
  liveItems: ReadonlyMap<PathElement, JsonValue>,
): (PathElement | undefined)[] {
  const shared: (PathElement | undefined)[] = []
  let next: PathElement | undefined
  for (let index = elements.length - 1; index >= 0; index--) {
    const element = elements[index]
    if (element !== undefined && liveItems.has(element)) next = element
    shared[index] = next
  }
  return shared
}

function sameItems(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}
