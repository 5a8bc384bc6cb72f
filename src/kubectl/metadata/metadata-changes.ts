import { checkLabelValue } from '#/api/names.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { changeCauseAnnotation } from '../change-cause.ts'
import { parseKeyValues, type KeyValueChanges } from '../key-value-arguments.ts'

/** Throws Error for a value that is not a valid label. */
export function parseLabelChanges(pairs: readonly string[]): KeyValueChanges {
  const set = new Map<string, string>()
  const removed: string[] = []
  for (const pair of pairs) {
    const [key = '', value, ...more] = pair.split('=')
    if (more.length > 0) throw new Error(`invalid label spec: ${pair}`)
    if (value !== undefined) {
      const problems = checkLabelValue(value)
      if (problems.length > 0) throw new Error(`invalid label value: ${quote(pair)}: ${problems.join(';')}`)
      set.set(key, value)
    } else removed.push(pair.slice(0, -1))
  }
  if (removed.some(key => set.has(key))) {
    throw new Error('can not both modify and remove a label in the same command')
  }
  return { set, removed }
}

export function parseAnnotationChanges(pairs: readonly string[]): KeyValueChanges {
  const changes = parseKeyValues(pairs, 'annotation')
  const both = changes.removed.filter(key => changes.set.has(key))
  if (both.length > 0) {
    const problem = 'can not both modify and remove the following annotation(s) in the same command'
    throw new Error(`${problem}: ${both.join(', ')}`)
  }
  return changes
}

type StringMap = Readonly<Record<string, string>>

/** The labels or annotations of an object. */
export function metadataMap({ metadata }: JsonObject, field: 'labels' | 'annotations'): StringMap {
  const map = isObject(metadata) ? metadata[field] : undefined
  if (!isObject(map)) return {}
  return Object.fromEntries(
    Object.entries(map).map(([key, value]) => [key, typeof value === 'string' ? value : '']),
  )
}

/** Keys that have another value, without those that can always be overwritten. */
export function overwrittenKeys(current: StringMap, { set }: KeyValueChanges): readonly string[] {
  return [...set.keys()].filter(
    key => key !== changeCauseAnnotation && Object.hasOwn(current, key) && current[key] !== set.get(key),
  )
}

/** The operation that is reported for the changes of labels. */
export function labelOperation(current: StringMap, { set, removed }: KeyValueChanges): string {
  const hasAdded = [...set].some(([key, value]) => !Object.hasOwn(current, key) || current[key] !== value)
  const hasRemoved = removed.some(key => Object.hasOwn(current, key))
  if (hasAdded && hasRemoved) return 'modified'
  if (hasAdded) return 'labeled'
  return hasRemoved ? 'unlabeled' : 'not labeled'
}

/** The object with the changes. */
export function withMetadataChanges(
  object: JsonObject,
  { field, changes }: { readonly field: 'labels' | 'annotations'; readonly changes: KeyValueChanges },
): JsonObject {
  const removed = new Set(changes.removed)
  const kept = Object.entries(metadataMap(object, field)).filter(([key]) => !removed.has(key))
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  return {
    ...object,
    metadata: { ...metadata, [field]: { ...Object.fromEntries(kept), ...Object.fromEntries(changes.set) } },
  }
}

/**
 * The merge patch from an object to the object with changes of its metadata. Undefined without a difference.
 */
export function metadataPatch(current: JsonObject, changed: JsonObject): JsonObject | undefined {
  const patches = (['labels', 'annotations'] as const).flatMap(field => {
    const patch = mapPatch(metadataMap(current, field), metadataMap(changed, field))
    return patch === undefined ? [] : [[field, patch] as const]
  })
  return patches.length === 0 ? undefined : { metadata: Object.fromEntries(patches) }
}

function mapPatch(current: StringMap, changed: StringMap): JsonObject | undefined {
  const removed = Object.keys(current).filter(key => !Object.hasOwn(changed, key))
  const set = Object.entries(changed).filter(([key, value]) => current[key] !== value)
  if (removed.length === 0 && set.length === 0) return undefined
  return { ...Object.fromEntries(set), ...Object.fromEntries(removed.map(key => [key, null])) }
}
