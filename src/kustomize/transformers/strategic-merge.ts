import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { cloneValue, isEmptyValue, kindOf, resolveScalar, textOf, wrongKind } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'
import type { KindSchemas, MergeSchema } from './merge-schema.ts'

/**
 * Merges a patch into an object as kustomize does, which differs from the API server: items that the patch names
 * come first, and the only directive is `$patch`. The object is changed, the patch is not. Returns undefined if
 * the patch deletes the object.
 */
export function mergeStrategically(
  object: JsonObject,
  patch: JsonObject,
  schemas: KindSchemas,
): JsonObject | undefined {
  const merged = mergeValues({ schemas }, { current: object, patch: cloneValue(patch), schema: undefined })
  return isObject(merged) ? merged : undefined
}

interface Merge {
  readonly schemas: KindSchemas
}

/** A missing side is undefined; a null in the patch deletes. */
interface Sides {
  readonly current: JsonValue | undefined
  readonly patch: JsonValue | undefined
  readonly schema: MergeSchema | undefined
}

const directive = '$patch'

/** Undefined means that the value is removed. */
function mergeValues(merge: Merge, { current, patch, schema }: Sides): JsonValue | undefined {
  const sample = current ?? patch
  // A null that the patch does not mention stays.
  if (sample === undefined || sample === null) return patch === undefined ? current : undefined
  const kind = kindOf(sample)
  for (const value of [current, patch]) {
    if (value !== undefined && value !== null && kindOf(value) !== kind) throw wrongKind(kind, value)
  }
  if (patch === null) return undefined
  const known = schema ?? schemaOf(merge, current) ?? schemaOf(merge, patch)
  if (kind === 'MappingNode') return mergeMaps(merge, { current, patch, schema: known })
  if (kind === 'SequenceNode' && known?.mergeKeys !== undefined && patch !== undefined) {
    return mergeLists(merge, { current, patch, schema: known })
  }
  if (typeof current === 'string' && kind === 'ScalarNode' && patch !== undefined) {
    // A text in quotes stays one: `"1"` becomes `"2"`.
    return typeof resolveScalar(current) === 'string' ? patch : textOf(patch)
  }
  return patch ?? current
}

function schemaOf(merge: Merge, value: JsonValue | undefined): MergeSchema | undefined {
  if (!isObject(value)) return undefined
  const [apiVersion, kind] = [textOf(get(value, 'apiVersion')), textOf(get(value, 'kind'))]
  return apiVersion === '' || kind === '' ? undefined : merge.schemas(apiVersion, kind)
}

function mergeMaps(merge: Merge, { current, patch, schema }: Sides): JsonValue | undefined {
  if (!isObject(patch)) return current
  const strategy = textOf(get(patch, directive))
  if (strategy !== '') checkStrategy(strategy)
  delete patch[directive]
  if (strategy === 'delete') return undefined
  // What is added is merged with nothing, which removes its nulls and directives.
  const target = isObject(current) && strategy !== 'replace' ? current : {}
  for (const key of Object.keys(patch)) {
    const sides = { current: get(target, key), patch: get(patch, key), schema: schema?.field(key) }
    const merged = mergeValues(merge, sides)
    if (merged === undefined) delete target[key]
    else put(target, key, merged)
  }
  return target
}

function checkStrategy(strategy: string): void {
  if (!['delete', 'replace', 'merge'].includes(strategy)) {
    throw new KustomizeError(`unknown patch strategy '${strategy}'`)
  }
}

interface AssociativeLists {
  readonly current: readonly JsonValue[]
  readonly patch: readonly JsonValue[]
  readonly keys: readonly string[]
  readonly items: MergeSchema | undefined
}

function mergeLists(merge: Merge, { current, patch, schema }: Sides): JsonValue | undefined {
  const patches = Array.isArray(patch) ? patch : []
  const marker = patches.find(item => isObject(item) && Object.hasOwn(item, directive))
  const isForList = isObject(marker) && Object.keys(marker).length === 1
  const strategy = isForList ? textOf(get(marker, directive)) : 'merge'
  checkStrategy(strategy)
  if (strategy === 'delete' && current !== undefined) return undefined
  const rest = patches.filter(item => !isForList || !isObject(item) || get(item, directive) !== strategy)
  const kept = Array.isArray(current) && strategy === 'merge' ? current : []
  const keys = schema?.mergeKeys ?? []
  if (keys.length === 0) return unite(rest, kept)
  const lists = { current: kept, patch: rest, keys, items: schema?.items() }
  const isAdded = !Array.isArray(current) || strategy === 'replace'
  return isAdded ? addItems(merge, lists) : mergeItems(merge, lists)
}

/** Scalars of both lists, each once. */
function unite(patch: readonly JsonValue[], current: readonly JsonValue[]): JsonValue[] {
  return [...new Map([...patch, ...current].map(item => [textOf(item), item])).values()]
}

/**
 * Items with the same keys are merged. With one key, the items of the patch come first; with several, only those
 * that it adds. As in kustomize, an item of the patch without keys, or whose keys are only some of those of a present
 * item, has no effect.
 */
function mergeItems(merge: Merge, lists: AssociativeLists): JsonValue[] {
  const { patch, items } = lists
  const keys = usedKeys(lists)
  const current = new Map(lists.current.map(item => [identityOf(item, keys), item]))
  const unkeyed = identityOf({}, keys)
  const ordered = new Map<string, JsonValue>()
  const removed = new Set<string>()
  for (const item of patch) {
    const id = identityOf(item, keys)
    if (id === unkeyed || ordered.has(id) || removed.has(id)) continue
    const old = current.get(id)
    const isIgnored = old === undefined ? isCompatible(item, lists.current, keys) : replaces(item)
    if (old === undefined && isIgnored) continue
    const merged = isIgnored ? old : mergeValues(merge, { current: old, patch: item, schema: items })
    if (merged === undefined || isEmptyValue(merged)) removed.add(id)
    else ordered.set(id, merged)
  }
  const result = keys.length > 1 ? [] : [...ordered.values()]
  if (keys.length > 1) for (const [id, item] of ordered) if (!current.has(id)) result.push(item)
  for (const item of lists.current) {
    const id = identityOf(item, keys)
    if (removed.has(id)) continue
    if (keys.length > 1 && ordered.has(id)) result.push(ordered.get(id) ?? item)
    else if (!ordered.has(id)) result.push(item)
  }
  return result
}

/** A directive to replace an item has no effect on a present one. */
function replaces(item: JsonValue): boolean {
  return isObject(item) && get(item, directive) === 'replace'
}

/** The keys that any item has; all if none has one. */
function usedKeys({ current, patch, keys }: AssociativeLists): readonly string[] {
  const used = keys.filter(key => [...patch, ...current].some(item => keyText(item, key) !== ''))
  return used.length === 0 ? keys : used
}

function keyText(item: JsonValue, key: string): string {
  return isObject(item) ? textOf(get(item, key)) : ''
}

function identityOf(item: JsonValue, keys: readonly string[]): string {
  return JSON.stringify(keys.map(key => keyText(item, key)))
}

/** True if the keys of a present item differ only where one of both items has none. */
function isCompatible(item: JsonValue, current: readonly JsonValue[], keys: readonly string[]): boolean {
  return current.some(other => {
    const pairs = keys.map(key => [keyText(item, key), keyText(other, key)] as const)
    const differs = pairs.some(([left, right]) => left !== right && left !== '' && right !== '')
    return !differs && pairs.some(([left, right]) => left === right)
  })
}

/** The items of a list that is added, each once; those without keys remain. */
function addItems(merge: Merge, { patch, items, ...lists }: AssociativeLists): JsonValue[] {
  const keys = usedKeys({ patch, items, ...lists })
  const unkeyed = identityOf({}, keys)
  const seen = new Set<string>()
  return patch.flatMap(item => {
    const id = identityOf(item, keys)
    if (id !== unkeyed && seen.has(id)) return []
    seen.add(id)
    const merged = mergeValues(merge, { current: undefined, patch: item, schema: items })
    return merged === undefined || isEmptyValue(merged) ? [] : [merged]
  })
}
