/** Operations on field sets that need the schema of the object. */
import type { JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { emptySet, isEmpty, remainder, transform, type FieldSet } from './field-set.ts'
import { fieldName, type PathElement } from './path-element.ts'
import {
  anySchema,
  asMap,
  childSchema,
  isDeclared,
  isGranularList,
  isGranularMap,
  setValue,
  type JsonObject,
} from './structure.ts'

/**
 * Adds every struct field that has descendants in the set. Such fields have no owner themselves, but a field
 * that is left without owned descendants is removed together with its contents.
 */
export function ensureNamedFieldsAreMembers(schema: Schema, set: FieldSet): FieldSet {
  return transform(set, (node, element) => {
    const name = fieldName(element)
    const named = name !== undefined && isDeclared(schema, name) && !isEmpty(node.children)
    return remainder(
      node,
      node.member || named,
      ensureNamedFieldsAreMembers(schemaBelow(schema, element), node.children),
    )
  })
}

const fitted = new WeakMap<Schema, WeakMap<FieldSet, FieldSet>>()

/**
 * Adapts the set to the current schema: if a granular field has become atomic, the owner of some of its parts
 * owns the whole field. The opposite change needs no adaptation: the owner of the atomic field remains owner
 * of an item without children.
 */
export function reconcileFieldSetWithSchema(schema: Schema, set: FieldSet): FieldSet {
  const sets = fitted.getOrInsertComputed(schema, () => new WeakMap())
  const known = sets.get(set)
  if (known !== undefined) return known
  const result = fit(schema, set)
  sets.set(set, result)
  sets.set(result, result)
  return result
}

function fit(schema: Schema, set: FieldSet): FieldSet {
  return transform(set, (node, element) => {
    const below = schemaBelow(schema, element)
    if (isEmpty(node.children) || below.type === 'any') return node
    if (!isGranularMap(below) && !isGranularList(below)) return remainder(node, true, emptySet)
    return remainder(node, node.member, fit(below, node.children))
  })
}

function schemaBelow(schema: Schema, element: PathElement): Schema {
  const name = fieldName(element)
  if (name !== undefined) return childSchema(schema, name)
  return schema.type === 'list' ? schema.items : anySchema
}

const emptyObjects = new WeakMap<Schema, JsonObject>()

/**
 * The object before any field is set: structs whose default is `{}` are always present, and so are required
 * lists and maps, as null. Creating an object takes ownership of their contents but not of the fields
 * themselves.
 */
export function emptyObject(schema: Schema): JsonObject {
  const known = emptyObjects.get(schema)
  if (known !== undefined) return known
  const object: JsonObject = {}
  // Stored before it is complete, so that a recursive schema terminates.
  emptyObjects.set(schema, object)
  if (schema.type !== 'struct') return object
  for (const [name, field] of schema.fields) {
    const { type } = field.schema
    if (type === 'struct' && isEmptyStruct(field.default)) setValue(object, name, emptyObject(field.schema))
    else if ((type === 'list' || type === 'map') && field.required && !field.omitEmpty) {
      setValue(object, name, null)
    }
  }
  return object
}

function isEmptyStruct(value: unknown): boolean {
  const map = asMap(value as JsonValue | undefined)
  return map !== undefined && Object.keys(map).length === 0
}
