/**
 * Compares two versions of an object and returns the changes as field sets. Object versions share unchanged
 * values, so values that are identical by reference are skipped and the cost is proportional to the change.
 */
import { equalJson, type JsonValue } from '../text/json-value.ts'
import type { ListSchema, Schema } from '../schema.ts'
import { emptySet, FieldSetBuilder, isEmpty, type FieldSet } from './field-set.ts'
import { fieldElement, type PathElement } from './path-element.ts'
import { toWholeFieldSet } from './to-field-set.ts'
import {
  asList,
  asMap,
  checkDepth,
  childSchema,
  isGranularList,
  isGranularMap,
  itemElements,
  valueAt,
  type JsonObject,
} from './structure.ts'

/** The sets are disjoint, except for the path of a list item that has or had duplicates. */
export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

const noChange: Comparison = { added: emptySet, modified: emptySet, removed: emptySet }

export function isSame(comparison: Comparison): boolean {
  return isEmpty(comparison.added) && isEmpty(comparison.modified) && isEmpty(comparison.removed)
}

/** Throws TypedValueError. */
export function compareValues(schema: Schema, before: JsonValue, after: JsonValue): Comparison {
  return compare(schema, { before, after, depth: 0 }) ?? noChange
}

interface Change extends Comparison {
  /** Change of the value itself, not of its descendants. */
  readonly self: 'added' | 'modified' | 'removed' | undefined
}

const addedWhole: Change = { ...noChange, self: 'added' }
const modifiedWhole: Change = { ...noChange, self: 'modified' }
const removedWhole: Change = { ...noChange, self: 'removed' }

type Value = JsonValue | undefined

class Changes {
  readonly #added = new FieldSetBuilder()
  readonly #modified = new FieldSetBuilder()
  readonly #removed = new FieldSetBuilder()
  #any = false

  take(element: PathElement, change: Change | undefined): void {
    if (change === undefined) return
    this.#any = true
    this.#added.add(element, change.self === 'added', change.added)
    this.#modified.add(element, change.self === 'modified', change.modified)
    this.#removed.add(element, change.self === 'removed', change.removed)
  }

  /** Undefined when nothing changed. */
  build(self: Change['self']): Change | undefined {
    if (!this.#any && self === undefined) return undefined
    return {
      self,
      added: this.#added.build(),
      modified: this.#modified.build(),
      removed: this.#removed.build(),
    }
  }
}

/** The values of both versions at one place. */
interface Sides<T = Value> {
  readonly before: T
  readonly after: T
  readonly depth: number
}

function compare(schema: Schema, { before, after, depth }: Sides): Change | undefined {
  if (before === after) return undefined
  checkDepth(depth)
  if (before === undefined) return addedAs(toWholeFieldSet(schema, after ?? null, depth))
  if (after === undefined) return removedAs(toWholeFieldSet(schema, before, depth))
  if (isGranularMap(schema)) {
    const left = asMap(before)
    const right = asMap(after)
    if (hasNoKeys(left) && hasNoKeys(right)) return compareLeaves(before, after)
    return compareMaps(schema, { before: left, after: right, depth, self: selfOf(before, after, asMap) })
  }
  if (isGranularList(schema)) {
    const left = asList(before) ?? []
    const right = asList(after) ?? []
    if (left.length === 0 && right.length === 0) return compareLeaves(before, after)
    return compareLists(schema, { before: left, after: right, depth, self: selfOf(before, after, asList) })
  }
  return compareLeaves(before, after)
}

function addedAs(added: FieldSet): Change {
  return isEmpty(added) ? addedWhole : { ...addedWhole, added }
}

function removedAs(removed: FieldSet): Change {
  return isEmpty(removed) ? removedWhole : { ...removedWhole, removed }
}

function compareLeaves(before: JsonValue, after: JsonValue): Change | undefined {
  return equalJson(before, after) ? undefined : modifiedWhole
}

/** A value that does not match the type of the schema is compared as a leaf and counts as modified. */
function selfOf(
  before: JsonValue,
  after: JsonValue,
  granular: (value: JsonValue) => unknown,
): Change['self'] {
  const fits = [before, after].every(value => value === null || granular(value) !== undefined)
  return fits ? undefined : 'modified'
}

interface GranularSides<T> extends Sides<T> {
  readonly self: Change['self']
}

function compareMaps(schema: Schema, sides: GranularSides<JsonObject | undefined>): Change | undefined {
  const { before: left, after: right, depth, self } = sides
  const changes = new Changes()
  const compareKey = (key: string): void => {
    const before = valueAt(left, key)
    const after = valueAt(right, key)
    if (before === after) return
    changes.take(fieldElement(key), compare(childSchema(schema, key), { before, after, depth: depth + 1 }))
  }
  for (const key of Object.keys(left ?? {})) compareKey(key)
  for (const key of Object.keys(right ?? {})) if (valueAt(left, key) === undefined) compareKey(key)
  return changes.build(self)
}

function hasNoKeys(map: JsonObject | undefined): boolean {
  return map === undefined || Object.keys(map).length === 0
}

function compareLists(schema: ListSchema, sides: GranularSides<readonly JsonValue[]>): Change | undefined {
  const { before: left, after: right, depth, self } = sides
  const changes = new Changes()
  if (self === undefined && sameItems(left, right)) return undefined
  const before = groupItems(schema, left)
  const after = groupItems(schema, right)
  for (const [element, items] of before) {
    takeItems(
      changes,
      element,
      compareItems(schema, { before: items, after: after.get(element) ?? [], depth }),
    )
  }
  for (const [element, items] of after) {
    if (!before.has(element))
      takeItems(changes, element, compareItems(schema, { before: [], after: items, depth }))
  }
  return changes.build(self)
}

function sameItems(a: readonly JsonValue[], b: readonly JsonValue[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

function takeItems(changes: Changes, element: PathElement, of: readonly (Change | undefined)[]): void {
  for (const change of of) changes.take(element, change)
}

function groupItems(schema: ListSchema, items: readonly JsonValue[]): Map<PathElement, JsonValue[]> {
  const groups = new Map<PathElement, JsonValue[]>()
  for (const [index, element] of itemElements(schema, items).entries()) {
    groups.getOrInsertComputed(element, () => []).push(items[index] ?? null)
  }
  return groups
}

/** Items with the same path element are compared together as one leaf, since they are indistinguishable. */
function compareItems(
  { items }: ListSchema,
  { before, after, depth: listDepth }: Sides<readonly JsonValue[]>,
): readonly (Change | undefined)[] {
  const depth = listDepth + 1
  if (before.length > 1 && after.length > 1) return [compareLeaves([...before], [...after])]
  if (before.length > 1) {
    return [compare(items, { before: undefined, after: after[0], depth }), removedWhole]
  }
  if (after.length > 1) return [compare(items, { before: before[0], after: undefined, depth }), addedWhole]
  return [compare(items, { before: before[0], after: after[0], depth })]
}
