import { equalJson, type JsonValue } from '../text/json-value.ts'
import { depthMax, get, isObject, tooDeep, type JsonObject } from '../text/json-object.ts'
import { operationsMax } from './json-patch.ts'
import { escapeName } from './json-pointer.ts'

export type JsonPatchOperation =
  | { op: 'add' | 'replace'; path: string; value: JsonValue }
  | { op: 'remove'; path: string }

/**
 * Creates a JSON patch between two documents. It is not minimal: a list grows or shrinks in one place only.
 * If it exceeded the server's limit on operations, it replaces the whole document.
 */
export function createJsonPatch(before: JsonValue, after: JsonValue): JsonPatchOperation[] {
  const operations = [...difference({ before, after, path: '' }, 0)]
  return operations.length > operationsMax ? [{ op: 'replace', path: '', value: after }] : operations
}

type Operations = Iterable<JsonPatchOperation>

interface Pair<T> {
  readonly before: T
  readonly after: T
  readonly path: string
}

function* difference({ before, after, path }: Pair<JsonValue>, depth: number): Operations {
  if (depth > depthMax) throw tooDeep()
  if (before === after) return
  if (isObject(before) && isObject(after)) {
    yield* objectDifference({ before, after, path }, depth)
  } else if (Array.isArray(before) && Array.isArray(after)) {
    yield* listDifference({ before, after, path }, depth)
  } else if (!equalJson(before, after)) {
    yield { op: 'replace', path, value: after }
  }
}

function* objectDifference({ before, after, path }: Pair<JsonObject>, depth: number): Operations {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) yield { op: 'remove', path: `${path}/${escapeName(key)}` }
  }
  for (const [key, value] of Object.entries(after)) {
    const place = `${path}/${escapeName(key)}`
    const old = get(before, key)
    if (old === undefined) yield { op: 'add', path: place, value }
    else yield* difference({ before: old, after: value, path: place }, depth + 1)
  }
}

/** Equal items at both ends are kept; between them, items are replaced, then added or removed. */
function* listDifference({ before, after, path }: Pair<JsonValue[]>, depth: number): Operations {
  const [head, tail] = before.length === after.length ? [0, 0] : commonEnds(before, after)
  const [oldEnd, newEnd] = [before.length - tail, after.length - tail]
  const changed = Math.min(oldEnd, newEnd)
  for (let index = head; index < changed; index++) {
    const [old, value] = [before[index], after[index]]
    if (old === undefined || value === undefined) continue
    yield* difference({ before: old, after: value, path: `${path}/${index}` }, depth + 1)
  }
  for (let index = oldEnd - 1; index >= changed; index--) yield { op: 'remove', path: `${path}/${index}` }
  for (const [offset, value] of after.slice(changed, newEnd).entries()) {
    yield { op: 'add', path: `${path}/${changed + offset}`, value }
  }
}

function commonEnds(before: readonly JsonValue[], after: readonly JsonValue[]): readonly [number, number] {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && equalJson(before[head], after[head])) head++
  let tail = 0
  while (tail < shorter - head && equalJson(before.at(-1 - tail), after.at(-1 - tail))) tail++
  return [head, tail]
}
