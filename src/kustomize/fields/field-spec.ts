import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { NodeKind } from '../documents/value.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { formatId, isSelected, type Gvk } from '../resources/resource-id.ts'
import type { Resource } from '../resources/resource.ts'
import { splitPath } from './split-path.ts'

/** A field of the selected kinds, `spec/template/metadata/labels`. Lists on the way are searched for it. */
export interface FieldSpec extends Partial<Gvk> {
  readonly path?: string
  /** Creates the field, and what leads to it. */
  readonly create?: boolean
}

export interface FieldChange {
  /** The new value of a found field; the same object if it was changed in place. */
  readonly change: (value: JsonValue) => JsonValue
  /** The kind of a field that is created; without it, none is. */
  readonly createKind?: NodeKind
}

export function changeFields(resource: Resource, specs: readonly FieldSpec[], change: FieldChange): void {
  for (const spec of specs) changeField(resource, spec, change)
}

export function changeField(resource: Resource, spec: FieldSpec, change: FieldChange): void {
  if (!isSelected(resource.gvk, spec)) return
  const path = splitPath(spec.path ?? '', '/')
  const walk: Walk = { ...change, creates: spec.create === true && change.createKind !== undefined }
  try {
    walkValue(walk, resource.object, path)
  } catch (error) {
    if (!(error instanceof KustomizeError)) throw error
    const what = `considering field '${spec.path ?? ''}' of object ${formatId(resource.currentId)}`
    throw new KustomizeError(`${what}: ${error.message}`, { cause: error })
  }
}

interface Walk extends FieldChange {
  readonly creates: boolean
}

function walkValue(walk: Walk, value: JsonValue, path: readonly string[]): JsonValue {
  if (path.length === 0) return walk.change(value)
  if (value === null) return value
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = inList(walk, item, path)
    return value
  }
  if (!isObject(value)) throw new KustomizeError('expected sequence or mapping node')
  walkMember(walk, value, path)
  return value
}

function inList(walk: Walk, item: JsonValue, path: readonly string[]): JsonValue {
  try {
    return walkValue(walk, item, path)
  } catch (error) {
    if (!(error instanceof KustomizeError)) throw error
    throw new KustomizeError(`visit traversal on path: [${path.join(' ')}]: ${error.message}`, {
      cause: error,
    })
  }
}

function walkMember(walk: Walk, map: JsonObject, [head = '', ...rest]: readonly string[]): void {
  const isList = head.endsWith('[]')
  const name = isList ? head.slice(0, -2) : head
  if (name === '') throw new KustomizeError('cannot set or create an empty field name')
  const createdKind = rest.length === 0 ? walk.createKind : 'MappingNode'
  const kind = isList ? 'SequenceNode' : walk.creates ? createdKind : undefined
  let field = get(map, name)
  if (field === undefined && (isList || !walk.creates)) return
  // A field that is null becomes an empty one, as if it were missing.
  if ((field === undefined || field === null) && kind !== undefined) {
    field = kind === 'SequenceNode' ? [] : kind === 'MappingNode' ? {} : ''
  }
  put(map, name, walkValue(walk, field ?? null, rest))
}
