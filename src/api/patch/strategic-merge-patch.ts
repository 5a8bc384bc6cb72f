/**
 * Strategic merge patch: a JSON merge patch that merges lists by the merge keys of the schema and supports
 * directives. See
 * https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/.
 */
import { badRequest } from '../errors.ts'
import { equalJson, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import {
  invalidPrimitiveListError,
  invalidElementOrderError,
  deletionKey,
  fieldOfDirective,
  isDirective,
  notAnObjectError,
  orderKey,
  elementOrderMismatchError,
  patchDirective,
  retainedKeys,
} from './directives.ts'
import { objectIdentity, scalarIdentity } from './element-identity.ts'
import { normalizeElementOrder, type Element } from './element-order.ts'
import {
  fieldStrategy,
  type FieldStrategy,
  type ListStrategy,
  type ObjectListStrategy,
} from './field-strategy.ts'
import {
  depthMax,
  get,
  identityOf,
  isObject,
  isScalar,
  tooDeep,
  withChanges,
  type JsonObject,
  type Scalar,
} from '../text/json-object.ts'

/** Returns the object itself if the patch changes nothing. */
export function applyStrategicMergePatch(current: JsonValue, patch: JsonValue, schema: Schema): JsonValue {
  if (!isObject(current) || !isObject(patch)) throw badRequest('invalid JSON document')
  return mergeObject(current, patch, { schema, depth: 0 })
}

interface Level {
  readonly schema: Schema
  readonly depth: number
}

function mergeObject(current: JsonObject, patch: JsonObject, level: Level): JsonObject {
  if (level.depth > depthMax) throw tooDeep()
  const directive = patchDirective(patch)
  if (directive === 'delete') return Object.keys(current).length === 0 ? current : {}
  if (directive !== 'replace') return mergeMembers(current, patch, level)
  const replaced = newObject(patch, level.depth)
  return equalJson(current, replaced) ? current : replaced
}

function mergeMembers(current: JsonObject, patch: JsonObject, { schema, depth }: Level): JsonObject {
  const changes = new Map<string, JsonValue | undefined>()
  const retained = retainedKeys(patch)
  if (retained !== undefined) {
    for (const key of Object.keys(current)) if (!retained.has(key)) changes.set(key, undefined)
  }
  for (const key of patchedFields(patch)) {
    const before = changes.has(key) ? undefined : get(current, key)
    const after = mergeField({
      current: before,
      value: get(patch, key),
      order: get(patch, orderKey(key)),
      deletions: get(patch, deletionKey(key)),
      strategy: fieldStrategy(schema, key),
      depth: depth + 1,
    })
    if (after !== before) changes.set(key, after)
  }
  return withChanges(current, changes)
}

/** A field with its patch: the value, and the two directive lists that may accompany it. */
interface FieldMerge {
  readonly current: JsonValue | undefined
  readonly value: JsonValue | undefined
  readonly order: JsonValue | undefined
  readonly deletions: JsonValue | undefined
  readonly strategy: FieldStrategy
  readonly depth: number
}

function patchedFields(patch: JsonObject): Iterable<string> {
  const keys = Object.keys(patch)
  if (!keys.some(isDirective)) return keys
  const fields = new Set<string>()
  for (const key of keys) {
    const field = isDirective(key) ? fieldOfDirective(key) : key
    if (field !== undefined) fields.add(field)
  }
  return fields
}

function mergeField(field: FieldMerge): JsonValue | undefined {
  const merged = mergeValue(field)
  if (field.deletions === undefined) return merged
  if (!Array.isArray(field.deletions)) throw invalidPrimitiveListError()
  if (!Array.isArray(merged)) return merged
  const deleted = new Set(field.deletions.map(scalarIdentity))
  const kept = merged.filter(item => !isScalar(item) || !deleted.has(identityOf(item)))
  return kept.length === merged.length ? merged : kept
}

function mergeValue({ current, value, order, strategy, depth }: FieldMerge): JsonValue | undefined {
  if (order !== undefined && !Array.isArray(order)) throw invalidElementOrderError()
  if (value === null) return undefined
  if (Array.isArray(value) && (Array.isArray(current) || order !== undefined)) {
    const before = Array.isArray(current) ? current : []
    return mergeList({ current: before, patch: value, order }, strategy.list, depth)
  }
  if (value === undefined) {
    const reordered = Array.isArray(current) && order !== undefined && strategy.list.type !== 'replace'
    return reordered ? mergeList({ current, patch: [], order }, strategy.list, depth) : current
  }
  if (isObject(current) && isObject(value) && !strategy.replace) {
    return mergeObject(current, value, { schema: strategy.schema, depth })
  }
  const made = newValue(value, depth)
  return made !== undefined && current !== undefined && equalJson(made, current) ? current : made
}

interface ListPatch {
  readonly current: JsonValue[]
  readonly patch: JsonValue[]
  readonly order: JsonValue[] | undefined
}

/** Returns the current list if the patch changes nothing in it. */
function mergeList(list: ListPatch, strategy: ListStrategy, depth: number): JsonValue[] {
  if (strategy.type === 'replace') {
    const replaced = newList(list.patch, depth)
    return equalJson(list.current, replaced) ? list.current : replaced
  }
  const merged = strategy.type === 'merge-objects' ? mergeObjects(list, strategy, depth) : mergeScalars(list)
  return sameItems(list.current, merged) ? list.current : merged
}

function mergeScalars({ current, patch, order }: ListPatch): JsonValue[] {
  const serverOrder = current.map(scalarIdentity)
  const added = patch.map(scalarIdentity)
  const patchOrder = order?.map(scalarIdentity) ?? added
  if (!isSubsequence(added, patchOrder)) throw elementOrderMismatchError(patch, order ?? [])
  const elements = new Map<Scalar, Element>()
  for (const item of [...current, ...patch]) {
    const id = scalarIdentity(item)
    if (!elements.has(id)) elements.set(id, { id, item })
  }
  return normalizeElementOrder([...elements.values()], { patchOrder, serverOrder })
}

function mergeObjects(list: ListPatch, { mergeKey, items }: ObjectListStrategy, depth: number): JsonValue[] {
  const level = { schema: items, depth: depth + 1 }
  const { plain, deleted, replace } = sortOut(list.patch, mergeKey)
  const added = plain.map(({ id }) => id)
  const patchOrder = list.order?.map(item => objectIdentity(item, mergeKey)) ?? added
  if (!isSubsequence(added, patchOrder)) throw elementOrderMismatchError(list.patch, list.order ?? [])
  if (replace) {
    const replaced = plain.map(({ id, patch }) => ({ id, item: newObject(patch, level.depth) }))
    return normalizeElementOrder(replaced, { patchOrder, serverOrder: added })
  }
  const live = list.current.map(item => ({ id: objectIdentity(item, mergeKey), item }))
  const elements: Element[] = live.filter(({ id }) => !deleted.has(id))
  const places = new Map<Scalar, number>()
  for (const [place, { id }] of elements.entries()) if (!places.has(id)) places.set(id, place)
  for (const { id, patch } of plain) {
    const place = places.get(id) ?? elements.length
    const item = elements[place]?.item
    const merged = isObject(item) ? mergeObject(item, patch, level) : newObject(patch, level.depth)
    places.set(id, place)
    elements[place] = { id, item: merged }
  }
  return normalizeElementOrder(elements, { patchOrder, serverOrder: live.map(({ id }) => id) })
}

interface SortedItems {
  /** Items to merge or add, each of them a patch. */
  readonly plain: readonly { readonly id: Scalar; readonly patch: JsonObject }[]
  readonly deleted: ReadonlySet<Scalar>
  /** The plain items replace the whole list. */
  readonly replace: boolean
}

function sortOut(patch: readonly JsonValue[], mergeKey: string): SortedItems {
  const plain: { id: Scalar; patch: JsonObject }[] = []
  const deleted = new Set<Scalar>()
  let replace = false
  for (const item of patch) {
    if (!isObject(item)) throw notAnObjectError(item)
    const directive = patchDirective(item)
    if (directive === 'replace') replace = true
    else if (directive === 'delete') deleted.add(objectIdentity(item, mergeKey))
    else plain.push({ id: objectIdentity(item, mergeKey), patch: item })
  }
  return { plain, deleted, replace }
}

/** True if the patch lists its items in the requested order; always true without `$setElementOrder`. */
function isSubsequence(added: readonly Scalar[], patchOrder: readonly Scalar[]): boolean {
  if (patchOrder.length === 0) return true
  let next = 0
  for (const id of patchOrder) if (next < added.length && id === added[next]) next++
  return next === added.length
}

/**
 * The value of a strategic merge patch where there is nothing to merge it with: directives are removed, and
 * so are nulls, which have nothing to delete. `undefined` if the patch only deletes.
 */
function newValue(patch: JsonValue, depth: number): JsonValue | undefined {
  if (isScalar(patch)) return patch
  if (depth > depthMax) throw tooDeep()
  if (Array.isArray(patch)) return newList(patch, depth)
  return patchDirective(patch) === 'delete' ? undefined : newObject(patch, depth)
}

/** The members of a patch as a new object, regardless of its own `$patch` directive. */
function newObject(patch: JsonObject, depth: number): JsonObject {
  const changes = new Map<string, JsonValue | undefined>()
  for (const [key, value] of Object.entries(patch)) {
    const made = value === null || isDirective(key) ? undefined : newValue(value, depth + 1)
    if (made !== value) changes.set(key, made)
  }
  return withChanges(patch, changes)
}

/** An item with `$patch: replace` or `$patch: delete` applies to the list and is not an item. */
function newList(patch: JsonValue[], depth: number): JsonValue[] {
  const made = patch.flatMap(item => {
    if (isObject(item) && (patchDirective(item) ?? 'merge') !== 'merge') return []
    // The brackets keep flatMap from flattening an item that is itself a list.
    return [newValue(item, depth + 1) ?? null]
  })
  return sameItems(patch, made) ? patch : made
}

function sameItems(left: readonly JsonValue[], right: readonly JsonValue[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
