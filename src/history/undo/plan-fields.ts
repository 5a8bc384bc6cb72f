import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'

/** How the fields of an object get from their current to their target values by server-side apply. */
export interface FieldsPlan {
  /** The part of the target that differs, with the keys of list items. Undefined if nothing does. */
  readonly applied: JsonValue | undefined
  /** Fields to remove, in the format of `fieldsV1`. The roots of what is removed are leaves, or have the member `.`. */
  readonly removed: JsonObject | undefined
}

export interface FieldsInput {
  readonly current: JsonValue
  readonly target: JsonValue
  /** The fields of all managers, as `fieldsV1`. They say which maps and lists are merged, and by which keys. */
  readonly fields: JsonObject
  /** Fields of the applying manager itself: they are applied again, since fields that it leaves out are removed. */
  readonly kept: JsonObject | undefined
}

const nothing: FieldsPlan = { applied: undefined, removed: undefined }

/** The depth of a parsed object is bounded. */
export function planFields(input: FieldsInput): FieldsPlan {
  const { current, target, fields, kept } = input
  const members = Object.keys(fields)
  const isMerged = members.some(each => each !== '.')
  if (isMerged && isObject(current) && isObject(target)) return planMap({ current, target, fields, kept })
  if (isMerged && Array.isArray(current) && Array.isArray(target)) {
    const pair = { current, target, fields, kept }
    const plan = members.some(each => each.startsWith('v:')) ? planSet(pair) : planKeyedList(pair)
    if (plan !== undefined) return plan
  }
  return kept === undefined && equalJson(current, target) ? nothing : { applied: target, removed: undefined }
}

interface MapInput extends FieldsInput {
  readonly current: JsonObject
  readonly target: JsonObject
}

function planMap({ current, target, fields, kept }: MapInput): FieldsPlan {
  const applied: JsonObject = {}
  const removed: JsonObject = {}
  for (const [key, value] of Object.entries(target)) {
    const name = `f:${key}`
    const was = get(current, key)
    if (was === undefined) {
      put(applied, key, value)
      continue
    }
    const own = member(kept, name)
    const plan = planFields({ current: was, target: value, fields: member(fields, name) ?? {}, kept: own })
    if (plan.applied !== undefined) put(applied, key, plan.applied)
    if (plan.removed !== undefined) removed[name] = plan.removed
  }
  for (const key of Object.keys(current)) {
    if (!Object.hasOwn(target, key)) removed[`f:${key}`] = asRoot(member(fields, `f:${key}`))
  }
  return { applied: unlessEmpty(applied), removed: unlessEmpty(removed) }
}

interface ListInput extends FieldsInput {
  readonly current: JsonValue[]
  readonly target: JsonValue[]
}

function planSet({ current, target, kept }: ListInput): FieldsPlan {
  if (kept === undefined && equalJson(current, target)) return nothing
  const removed: JsonObject = {}
  for (const item of current) {
    if (!target.some(each => equalJson(each, item))) removed[`v:${JSON.stringify(item)}`] = {}
  }
  return { applied: target, removed: unlessEmpty(removed) }
}

/** Undefined if the items are not as the keys require. */
function planKeyedList({ current, target, fields, kept }: ListInput): FieldsPlan | undefined {
  const names = keyNames(fields)
  const before = itemsByKey(current, names)
  const after = itemsByKey(target, names)
  if (before === undefined || after === undefined) return undefined
  const applied: JsonObject[] = []
  const removed: JsonObject = {}
  // Applied items keep their order: with all keys, a new item gets to its place.
  const common = [...before.keys()].filter(key => after.has(key))
  const withAllKeys = !equalJson(common, [...after.keys()])
  for (const [key, item] of after) {
    const was = before.get(key)
    if (was === undefined) {
      applied.push(item)
      continue
    }
    const own = member(kept, key)
    const plan = planFields({ current: was, target: item, fields: member(fields, key) ?? {}, kept: own })
    if (isObject(plan.applied)) applied.push({ ...keyOf(item, names), ...plan.applied })
    else if (withAllKeys || plan.removed !== undefined) applied.push(keyOf(item, names))
    if (plan.removed !== undefined) removed[key] = plan.removed
  }
  for (const key of before.keys()) {
    if (!after.has(key)) removed[key] = asRoot(member(fields, key) ?? { '.': {} })
  }
  return { applied: applied.length > 0 ? applied : undefined, removed: unlessEmpty(removed) }
}

/** The names of the keys of `k:{"containerPort":80,"protocol":"TCP"}`. */
function keyNames(fields: JsonObject): readonly string[] {
  const member = Object.keys(fields).find(each => each.startsWith('k:')) ?? 'k:{}'
  try {
    const key = JSON.parse(member.slice(2)) as unknown
    return typeof key === 'object' && key !== null ? Object.keys(key) : []
  } catch {
    return []
  }
}

function itemsByKey(
  items: readonly JsonValue[],
  names: readonly string[],
): ReadonlyMap<string, JsonObject> | undefined {
  const found = new Map<string, JsonObject>()
  for (const item of items) {
    if (!isObject(item) || !names.every(name => Object.hasOwn(item, name))) return undefined
    const key = `k:${JSON.stringify(keyOf(item, names))}`
    if (found.has(key)) return undefined
    found.set(key, item)
  }
  return names.length === 0 ? undefined : found
}

function keyOf(item: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, item[name] ?? null]))
}

function member(fields: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = fields && get(fields, name)
  return isObject(value) ? value : undefined
}

/** Marks what is removed with all that is below it. */
function asRoot(fields: JsonObject = {}): JsonObject {
  return Object.keys(fields).length === 0 ? {} : { '.': {}, ...fields }
}

function unlessEmpty(object: JsonObject): JsonObject | undefined {
  return Object.keys(object).length === 0 ? undefined : object
}
