import type { JsonValue } from '../text/json-value.ts'
import { patchMarker } from './directives.ts'
import { objectIdentity, scalarIdentity } from './element-identity.ts'
import { sameOrder } from './element-order.ts'
import { isObject, type JsonObject, type Scalar } from '../text/json-object.ts'
import type { Versions } from './versions.ts'

/** The content of a strategic merge patch for a merged list; empty lists are omitted from the patch. */
export interface ListDifference {
  readonly items: JsonValue[]
  /** For `$deleteFromPrimitiveList`. */
  readonly deletions: JsonValue[]
  /** For `$setElementOrder`. */
  readonly order: JsonValue[]
}

type DiffItem = (versions: Versions<JsonObject>) => JsonObject

const noDifference: ListDifference = { items: [], deletions: [], order: [] }

export function diffScalarLists({ original, modified, current }: Versions<JsonValue[]>): ListDifference {
  if (current.length === 0) return { ...noDifference, items: modified }
  const [wanted, present] = [modified.map(scalarIdentity), current.map(scalarIdentity)]
  const [wantedSet, presentSet] = [new Set(wanted), new Set(present)]
  const items = modified.filter(item => !presentSet.has(scalarIdentity(item)))
  const deletions = (original ?? []).filter(item => !wantedSet.has(scalarIdentity(item)))
  if (items.length === 0 && deletions.length === 0 && sameOrder(wanted, present)) return noDifference
  return { items, deletions, order: modified }
}

export function diffObjectLists(
  versions: Versions<JsonValue[]>,
  mergeKey: string,
  diffItem: DiffItem,
): ListDifference {
  const { modified, current } = versions
  if (current.length === 0) return { ...noDifference, items: modified }
  const applied = group(versions.original ?? [], mergeKey)
  const wanted = group(modified, mergeKey)
  const present = group(current, mergeKey)
  const changed = changedItems({ original: applied, modified: wanted, current: present }, diffItem)
  const removed = [...applied.keys()].filter(id => !wanted.has(id))
  if (isAmbiguous(changed, { original: applied, modified: wanted, current: present })) {
    const gone = new Set(removed)
    const others = current.filter(item => {
      const id = objectIdentity(item, mergeKey)
      return !wanted.has(id) && !gone.has(id)
    })
    return { ...noDifference, items: [{ [patchMarker]: 'replace' }, ...modified, ...others] }
  }
  const order = modified.map(item => objectIdentity(item, mergeKey))
  const inOrder = sameOrder(
    order,
    current.map(item => objectIdentity(item, mergeKey)),
  )
  if (changed.size === 0 && removed.length === 0 && inOrder) return noDifference
  const items: JsonValue[] = []
  for (const [id, change] of changed) items.push({ [mergeKey]: id, ...change })
  for (const id of removed) items.push({ [mergeKey]: id, [patchMarker]: 'delete' })
  return { ...noDifference, items, order: order.map(id => ({ [mergeKey]: id })) }
}

/** Items by identity; several if the merge key is not unique, as for ports with two protocols. */
type Grouped = ReadonlyMap<Scalar, readonly JsonObject[]>

function group(items: readonly JsonValue[], mergeKey: string): Grouped {
  const groups = new Map<Scalar, JsonObject[]>()
  for (const item of items) {
    const id = objectIdentity(item, mergeKey)
    const siblings = groups.get(id)
    if (!isObject(item)) continue
    if (siblings === undefined) groups.set(id, [item])
    else siblings.push(item)
  }
  return groups
}

/**
 * The patches of changed items, in the order of the patch; items with the same key are compared in their
 * order.
 */
function changedItems(versions: Versions<Grouped>, diffItem: DiffItem): ReadonlyMap<Scalar, JsonObject> {
  const changes = new Map<Scalar, JsonObject>()
  for (const [id, items] of versions.modified) {
    for (const [nth, modified] of items.entries()) {
      const original = versions.original?.get(id)?.[nth]
      const current = versions.current.get(id)?.[nth]
      const change = current === undefined ? modified : diffItem({ original, modified, current })
      if (Object.keys(change).length > 0) changes.set(id, change)
    }
  }
  return changes
}

/**
 * True if the patch would have to change an item that its merge key does not identify uniquely. Kubernetes'
 * clients lose an item in this case; here the whole list is replaced.
 */
function isAmbiguous(changed: ReadonlyMap<Scalar, JsonObject>, versions: Versions<Grouped>): boolean {
  return [...versions.modified].some(([id, items]) => {
    const present = versions.current.get(id)?.length ?? 0
    const applied = versions.original?.get(id)?.length ?? 0
    const dropped = present > items.length && applied > items.length
    return dropped || (changed.has(id) && (items.length > 1 || present > 1))
  })
}
