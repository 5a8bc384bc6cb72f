/**
 * The identity of the items of lists with `x-kubernetes-list-type` set or map. Such lists are equal regardless of
 * the order of their items, and `+` merges: a set gets the missing items, a map replaces items with equal keys.
 */
import { canonicalJson } from '#/api/text/canonical-json.ts'
import { toJson } from './json.ts'
import {
  Duration,
  list,
  MapValue,
  ObjectValue,
  Timestamp,
  Uint,
  type ListValue,
  type Value,
} from './value.ts'

export interface ItemIdentity {
  /** The key of an item, compared like the keys of a JavaScript map. */
  keyOf(item: Value): unknown
}

/** Items are identical if they are equal. */
export const setIdentity: ItemIdentity = { keyOf: contentKey }

/** Items are identical if they agree in the fields of these escaped names. */
export function mapIdentity(names: readonly string[]): ItemIdentity {
  const [name, ...rest] = names
  if (name !== undefined && rest.length === 0) return { keyOf: item => contentKey(fieldOf(item, name)) }
  const keys = new WeakMap<object, string>()
  return {
    keyOf: item => {
      if (!isComposite(item)) return contentKey(item)
      return keys.getOrInsertComputed(item, () =>
        canonicalJson(names.map(each => toJson(fieldOf(item, each)))),
      )
    },
  }
}

/** The items by their keys; of identical items the first. Computed once for each list. */
export function itemsByKey(values: ListValue, identity: ItemIdentity): ReadonlyMap<unknown, Value> {
  const known = keyed.get(values)
  if (known?.identity === identity) return known.items
  const items = new Map<unknown, Value>()
  for (const item of values) items.getOrInsert(identity.keyOf(item), item)
  keyed.set(values, { identity, items })
  return items
}

const keyed = new WeakMap<
  ListValue,
  { readonly identity: ItemIdentity; readonly items: ReadonlyMap<unknown, Value> }
>()

/** The items of `a` in their order, replaced by identical ones of `b`, and then the other items of `b`. */
export function mergeItems(a: ListValue, b: ListValue, identity: ItemIdentity): ListValue {
  const merged = new Map(itemsByKey(a, identity))
  for (const [key, item] of itemsByKey(b, identity)) merged.set(key, item)
  return list([...merged.values()], identity)
}

function fieldOf(item: Value, name: string): Value {
  if (item instanceof ObjectValue) return item.field(name) ?? null
  return item instanceof MapValue ? (item.get(name) ?? null) : item
}

function isComposite(value: Value): value is ObjectValue | MapValue {
  return value instanceof ObjectValue || value instanceof MapValue
}

/** Equal for equal values. The text of a composite value is computed once. */
function contentKey(value: Value): unknown {
  if (value instanceof Uint) return value.value
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Timestamp) return `timestamp ${value.nanoseconds}`
  if (value instanceof Duration) return `duration ${value.nanoseconds}`
  return contentKeys.getOrInsertComputed(value, () => canonicalJson(toJson(value)))
}

const contentKeys = new WeakMap<object, string>()
