import { equalJson, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { isDirective, patchDirective } from './directives.ts'
import { objectIdentity } from './element-identity.ts'
import { fieldStrategy, type ListStrategy, type ObjectListStrategy } from './field-strategy.ts'
import { get, isObject, type JsonObject } from '../text/json-object.ts'

/** Paths of the fields that two strategic merge patches of the same object set to different values. */
export function findConflicts(ours: JsonObject, theirs: JsonObject, schema: Schema): readonly string[] {
  return [...conflictsOf({ ours, theirs, path: '' }, schema)]
}

interface Pair<T> {
  readonly ours: T
  readonly theirs: T
  readonly path: string
}

/** Recursion continues only where both patches have an object, and creating them bounded the depth. */
function* conflictsOf({ ours, theirs, path }: Pair<JsonObject>, schema: Schema): Iterable<string> {
  if (patchDirective(ours) !== patchDirective(theirs)) {
    yield path
    return
  }
  for (const [key, value] of Object.entries(ours)) {
    const other = get(theirs, key)
    if (other === undefined || isDirective(key)) continue
    const strategy = fieldStrategy(schema, key)
    const pair = { path: path === '' ? key : `${path}.${key}` }
    if (isObject(value) && isObject(other) && !strategy.replace) {
      yield* conflictsOf({ ...pair, ours: value, theirs: other }, strategy.schema)
    } else if (Array.isArray(value) && Array.isArray(other)) {
      yield* conflictsInLists({ ...pair, ours: value, theirs: other }, strategy.list)
    } else if (!equalJson(value, other)) {
      yield pair.path
    }
  }
}

/** Additions to a merged list of scalars never conflict. */
function* conflictsInLists(pair: Pair<JsonValue[]>, strategy: ListStrategy): Iterable<string> {
  if (strategy.type === 'merge-scalars') return
  if (strategy.type === 'merge-objects' && !replacesList(pair.ours) && !replacesList(pair.theirs)) {
    yield* conflictsInItems(pair, strategy)
  } else if (!equalJson(pair.ours, pair.theirs)) {
    yield pair.path
  }
}

function* conflictsInItems(pair: Pair<JsonValue[]>, strategy: ObjectListStrategy): Iterable<string> {
  const { mergeKey, items } = strategy
  const others = new Map(pair.theirs.map(item => [objectIdentity(item, mergeKey), item]))
  for (const ours of pair.ours) {
    const id = objectIdentity(ours, mergeKey)
    const theirs = others.get(id)
    if (!isObject(ours) || !isObject(theirs)) continue
    const path = `${pair.path}[${mergeKey}=${String(id)}]`
    yield* conflictsOf({ ours, theirs, path }, items)
  }
}

function replacesList(items: readonly JsonValue[]): boolean {
  return items.some(item => isObject(item) && patchDirective(item) === 'replace')
}
