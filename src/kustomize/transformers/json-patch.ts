import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { cloneValue, sizeOf } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'

export type JsonPatch = readonly JsonObject[]

/** Maximum size of what the copy operations of a patch may add. */
const copiedSizeMax = 16 * 1024 * 1024

/**
 * Applies a JSON patch with the rules of kustomize, which are laxer than those of the API server: `replace` adds a
 * missing member, `copy` of a missing one adds null. The document is changed; returns its replacement.
 */
export function applyJsonPatch(document: JsonValue, patch: JsonPatch): JsonValue {
  const run: Run = { root: document, copiedSize: 0 }
  for (const operation of patch) perform(run, operation)
  // Operations may nest values into each other.
  sizeOf(run.root)
  return run.root
}

/** Returns undefined if the value is not a list of operations. */
export function asJsonPatch(value: JsonValue): JsonPatch | undefined {
  return Array.isArray(value) && value.every(isObject) ? value : undefined
}

interface Run {
  root: JsonValue
  copiedSize: number
}

function perform(run: Run, operation: JsonObject): void {
  const name = get(operation, 'op')
  const kind = typeof name === 'string' ? name : 'unknown'
  switch (kind) {
    case 'add':
      addAt(run, { kind, path: pathOf(operation, kind) }, valueOf(operation))
      return
    case 'remove':
      remove(run, kind, pathOf(operation, kind))
      return
    case 'replace':
      replace(run, pathOf(operation, kind), valueOf(operation))
      return
    case 'test':
      test(run, pathOf(operation, kind), get(operation, 'value'))
      return
    case 'move':
      move(run, operation)
      return
    case 'copy':
      copy(run, operation)
      return
    default:
      throw new KustomizeError(`Unexpected kind: ${kind}`)
  }
}

function pathOf(operation: JsonObject, kind: string, field: 'path' | 'from' = 'path'): string {
  const path = get(operation, field)
  if (typeof path === 'string') return path
  const problem = field === 'path' ? 'operation missing path field' : 'operation, missing from field'
  throw new KustomizeError(`${kind} operation failed to decode ${field}: ${problem}: missing value`)
}

/** A patch is applied to several objects, which must not share parts. */
function valueOf(operation: JsonObject): JsonValue {
  return cloneValue(get(operation, 'value') ?? null)
}

interface Target {
  readonly container: JsonObject | JsonValue[]
  readonly key: string
}

/** The container of the value at a pointer; undefined if it does not exist. */
function find(run: Run, path: string): Target | undefined {
  const [, ...names] = path.split('/').map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  const key = names.pop()
  if (key === undefined) return undefined
  let container: JsonValue | undefined = run.root
  for (const name of names) {
    if (Array.isArray(container)) container = container[existingIndex(container, name) ?? container.length]
    else container = isObject(container) ? get(container, name) : undefined
  }
  return Array.isArray(container) || isObject(container) ? { container, key } : undefined
}

/** Negative indexes count from the end. */
function existingIndex(list: readonly JsonValue[], key: string): number | undefined {
  if (!/^[-+]?\d+$/.test(key)) return undefined
  const index = Number(key) < 0 ? Number(key) + list.length : Number(key)
  return index >= 0 && index < list.length ? index : undefined
}

function invalidIndex(key: string): string {
  if (/^[-+]?\d+$/.test(key))
    return `Unable to access invalid index: ${Number(key)}: invalid index referenced`
  return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`
}

function addAt(run: Run, at: { readonly kind: string; readonly path: string }, value: JsonValue): void {
  const { kind, path } = at
  const target = find(run, path)
  if (target === undefined) {
    const missing = kind === 'add' ? `path: "${path}"` : `destination path: ${path}`
    throw new KustomizeError(`${kind} operation does not apply: doc is missing ${missing}: missing value`)
  }
  const problem = insert(target, value)
  if (problem === undefined) return
  const context =
    kind === 'copy' ? 'error while adding value during copy' : `error in ${kind} for path: '${path}'`
  throw new KustomizeError(`${context}: ${problem}`)
}

/** Returns what is wrong with the index. */
function insert({ container, key }: Target, value: JsonValue): string | undefined {
  if (!Array.isArray(container)) {
    put(container, key, value)
    return undefined
  }
  if (key === '-') {
    container.push(value)
    return undefined
  }
  if (!/^[-+]?\d+$/.test(key)) return `value was not a proper array index: '${key}': ${invalidIndex(key)}`
  const size = container.length + 1
  const index = Number(key) < 0 ? Number(key) + size : Number(key)
  if (index < 0 || index >= size) return invalidIndex(key)
  container.splice(index, 0, value)
  return undefined
}

function remove(run: Run, kind: string, path: string): JsonValue {
  const target = find(run, path)
  if (target === undefined) {
    const missing = kind === 'move' ? `from path: ${path}` : `path: "${path}"`
    throw new KustomizeError(`${kind} operation does not apply: doc is missing ${missing}: missing value`)
  }
  const { container, key } = target
  const context = `error in ${kind} for path: '${kind === 'move' ? key : path}'`
  if (Array.isArray(container)) {
    const index = existingIndex(container, key)
    if (index === undefined) throw new KustomizeError(`${context}: ${invalidIndex(key)}`)
    return container.splice(index, 1)[0] ?? null
  }
  const value = get(container, key)
  if (value === undefined) {
    throw new KustomizeError(`${context}: Unable to remove nonexistent key: ${key}: missing value`)
  }
  delete container[key]
  return value
}

function replace(run: Run, path: string, value: JsonValue): void {
  if (path === '') {
    if (typeof value !== 'object' || value === null) {
      throw new KustomizeError('replace operation value must be object or array')
    }
    run.root = value
    return
  }
  const target = find(run, path)
  const problem = 'replace operation does not apply: doc is missing'
  if (target === undefined) throw new KustomizeError(`${problem} path: ${path}: missing value`)
  const { container, key } = target
  if (!Array.isArray(container)) {
    put(container, key, value)
    return
  }
  const index = existingIndex(container, key)
  if (index === undefined) throw new KustomizeError(`${problem} key: ${path}: missing value`)
  container[index] = value
}

/** Returns undefined for a missing member of a map. */
function read(run: Run, path: string, failure: { readonly missing: string; readonly index: string }) {
  const target = find(run, path)
  if (target === undefined) throw new KustomizeError(`${failure.missing}: ${path}: missing value`)
  const { container, key } = target
  if (!Array.isArray(container)) return get(container, key)
  const index = existingIndex(container, key)
  if (index === undefined) throw new KustomizeError(`${failure.index}: '${path}': ${invalidIndex(key)}`)
  return container[index]
}

function test(run: Run, path: string, expected: JsonValue | undefined): void {
  const found =
    path === ''
      ? run.root
      : read(run, path, {
          missing: 'test operation does not apply: is missing path',
          index: 'error in test for path',
        })
  // A missing value equals null.
  if (!equalJson(found ?? null, expected ?? null)) {
    throw new KustomizeError(`testing value ${path} failed: test failed`)
  }
}

function move(run: Run, operation: JsonObject): void {
  const from = pathOf(operation, 'move', 'from')
  const value = remove(run, 'move', from)
  addAt(run, { kind: 'move', path: pathOf(operation, 'move') }, value)
}

function copy(run: Run, operation: JsonObject): void {
  const from = pathOf(operation, 'copy', 'from')
  const failure = {
    missing: 'copy operation does not apply: doc is missing from path',
    index: 'error in copy for from',
  }
  const value = read(run, from, failure) ?? null
  run.copiedSize += sizeOf(value)
  if (run.copiedSize > copiedSizeMax) {
    throw new KustomizeError(`copy operations add more than ${copiedSizeMax} characters`)
  }
  addAt(run, { kind: 'copy', path: pathOf(operation, 'copy') }, cloneValue(value))
}
