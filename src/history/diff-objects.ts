/**
 * Differences of two versions of an object, by field. A pure function without dependencies on Node: the console uses it
 * in the browser, too.
 */
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'

export interface FieldChange {
  /** `spec.template.spec.containers[name=web].image`. */
  readonly path: string
  /** Absent if the field was added. */
  readonly before?: JsonValue
  /** Absent if the field was removed. */
  readonly after?: JsonValue
}

export interface DiffOptions {
  /** Compares also `metadata.managedFields` and `metadata.resourceVersion`, which every write changes. */
  readonly includeServerFields?: boolean
  /** Leaves out `status`, and metadata that goes with it. */
  readonly specOnly?: boolean
  /** Maximum number of changes to return. */
  readonly limit?: number
}

export const changesMax = 1_000

/** A list of the changes that is full takes no more. */
interface ChangeSink {
  readonly isFull: boolean
  add(change: FieldChange): void
}

interface ValuePair {
  readonly path: string
  readonly depth: number
  readonly before: JsonValue
  readonly after: JsonValue
}

/** Changes in the order of the fields. At most `limit`: more are left out. */
export function diffObjects(
  before: JsonValue,
  after: JsonValue,
  options: DiffOptions = {},
): readonly FieldChange[] {
  const { limit = changesMax, includeServerFields = false, specOnly = false } = options
  const changes: FieldChange[] = []
  const sink: ChangeSink = {
    get isFull() {
      return changes.length >= limit
    },
    add: change => void (changes.length < limit && changes.push(change)),
  }
  const ignored = new Set([...(includeServerFields ? [] : serverFields), ...(specOnly ? statusFields : [])])
  diffValues({ path: '', depth: 0, before, after }, { sink, ignored })
  return changes
}

/** Controllers write the annotation with the status. */
const statusFields = [
  'status',
  'metadata.generation',
  'metadata.annotations["deployment.kubernetes.io/revision"]',
]

const serverFields = ['metadata.managedFields', 'metadata.resourceVersion']

/** Their members are shown one by one, also if all of them are new. */
const maps: ReadonlySet<string> = new Set([
  'metadata.labels',
  'metadata.annotations',
  'data',
  'stringData',
  'binaryData',
])

/** Deeper values are compared as a whole. */
const depthMax = 100

interface DiffContext {
  readonly sink: ChangeSink
  /** Paths. */
  readonly ignored: ReadonlySet<string>
}

function diffValues(pair: ValuePair, context: DiffContext): void {
  const { path, depth, before, after } = pair
  const { sink } = context
  if (before === after || sink.isFull) return
  if (depth < depthMax) {
    if (isMap(before) && isMap(after)) return diffMaps({ path, depth, before, after }, context)
    if (Array.isArray(before) && Array.isArray(after)) {
      return diffLists({ path, depth, before, after }, context)
    }
  }
  if (!equalJson(before, after)) sink.add({ path, before, after })
}

type JsonMap = { readonly [key: string]: JsonValue }

interface MapPair extends ValuePair {
  readonly before: { [key: string]: JsonValue }
  readonly after: { [key: string]: JsonValue }
}

function diffMaps({ path, depth, before, after }: MapPair, context: DiffContext): void {
  const { sink, ignored } = context
  const added = Object.keys(after).filter(key => !Object.hasOwn(before, key))
  for (const key of [...Object.keys(before), ...added]) {
    if (sink.isFull) return
    const member = withKey(path, key)
    if (ignored.has(member)) continue
    const was = memberOf(before, key)
    const is = memberOf(after, key)
    if (was !== undefined && is !== undefined) {
      diffValues({ path: member, depth: depth + 1, before: was, after: is }, context)
    } else if (maps.has(member) && isMap(was ?? is ?? null)) {
      diffValues({ path: member, depth: depth + 1, before: was ?? {}, after: is ?? {} }, context)
    } else if (was !== undefined) sink.add({ path: member, before: was })
    else if (is !== undefined) sink.add({ path: member, after: is })
  }
}

function isMap(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Not of the prototype. */
function memberOf(map: JsonMap, key: string): JsonValue | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

interface ListPair extends ValuePair {
  readonly before: JsonValue[]
  readonly after: JsonValue[]
}

/**
 * Items are matched by a field with a unique value in both lists, else by their position after what both lists begin
 * and end with. A list of scalars is compared as a whole.
 */
function diffLists(pair: ListPair, context: DiffContext): void {
  const { path, before, after } = pair
  if (equalJson(before, after)) return
  if ([...before, ...after].some(isScalar) || before.length === 0 || after.length === 0) {
    context.sink.add({ path, before, after })
    return
  }
  const field = keyFields.find(each => keysOf(before, each) && keysOf(after, each))
  if (field === undefined) diffByPosition(pair, context)
  else diffByKey(pair, field, context)
}

/** Fields that identify the items of lists, the most specific first: two mounts may have one name. */
const keyFields = [
  'mountPath',
  'devicePath',
  'uid',
  'name',
  'type',
  'containerPort',
  'port',
  'key',
  'ip',
  'hostname',
  'host',
  'path',
  'topologyKey',
]

type Key = string | number

/** The items by the value of the field. Undefined unless each item has it and the values are unique. */
function keysOf(items: readonly JsonValue[], field: string): ReadonlyMap<Key, JsonValue> | undefined {
  const found = new Map<Key, JsonValue>()
  for (const item of items) {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return undefined
    const value = Object.hasOwn(item, field) ? item[field] : undefined
    if ((typeof value !== 'string' && typeof value !== 'number') || found.has(value)) return undefined
    found.set(value, item)
  }
  return found
}

function diffByKey({ path, depth, before, after }: ListPair, field: string, context: DiffContext): void {
  const { sink } = context
  const was = keysOf(before, field) ?? new Map<Key, JsonValue>()
  const is = keysOf(after, field) ?? new Map<Key, JsonValue>()
  for (const [value, item] of was) {
    if (sink.isFull) return
    const itemPath = withItemKey(path, { field, value })
    const other = is.get(value)
    if (other === undefined) sink.add({ path: itemPath, before: item })
    else diffValues({ path: itemPath, depth: depth + 1, before: item, after: other }, context)
  }
  for (const [value, item] of is) {
    if (!was.has(value)) sink.add({ path: withItemKey(path, { field, value }), after: item })
  }
  const keptBefore = [...was.keys()].filter(value => is.has(value))
  const keptAfter = [...is.keys()].filter(value => was.has(value))
  if (!equalJson(keptBefore, keptAfter)) {
    sink.add({ path: `${path} (order)`, before: keptBefore, after: keptAfter })
  }
}

function diffByPosition({ path, depth, before, after }: ListPair, context: DiffContext): void {
  const { sink } = context
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && equalJson(before[start], after[start])) start++
  let end = 0
  while (end < shorter - start && equalJson(before.at(-1 - end), after.at(-1 - end))) end++
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  for (let index = 0; index < Math.max(removed.length, added.length) && !sink.isFull; index++) {
    const itemPath = withIndex(path, start + index)
    const was = removed[index]
    const is = added[index]
    if (was !== undefined && is !== undefined) {
      diffValues({ path: itemPath, depth: depth + 1, before: was, after: is }, context)
    } else if (was !== undefined) sink.add({ path: itemPath, before: was })
    else if (is !== undefined) sink.add({ path: itemPath, after: is })
  }
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null
}

/** `spec.replicas`, `metadata.labels["app.kubernetes.io/name"]`. */
function withKey(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}

function withIndex(path: string, index: number): string {
  return `${path}[${index}]`
}

interface ItemKey {
  /** Field of the items that identifies them: `name`. */
  readonly field: string
  readonly value: string | number
}

/** `spec.containers[name=web]`. */
function withItemKey(path: string, { field, value }: ItemKey): string {
  const text = String(value)
  return `${path}[${field}=${/^[\w./:-]+$/.test(text) ? text : JSON.stringify(text)}]`
}

/** Values of Secrets, also those in the annotation of `kubectl apply`, without what they contain. */
export function maskSecretValues(changes: readonly FieldChange[]): readonly FieldChange[] {
  return changes.map(change => {
    if (!secretPath.test(change.path)) return change
    const { path, before, after } = change
    return {
      path,
      ...(before !== undefined && { before: after === undefined ? mask : `${mask} (before)` }),
      ...(after !== undefined && { after: before === undefined ? mask : `${mask} (after)` }),
    }
  })
}

const mask = '***'
const secretPath = /^(?:data|stringData|metadata\.annotations\["kubectl\.kubernetes\.io\/last-applied)/
