/** Field sets seen with the schema of the object they are about. */
import type { JsonValue } from '../json-value.ts'
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
 * The set with every struct field in it that has something below it in the set. Such fields are not owned
 * themselves, but a field that is left with nothing that anybody owns goes with its contents.
 */
export function withNamedFields(schema: Schema, set: FieldSet): FieldSet {
  return transform(set, (node, element) => {
    const name = fieldName(element)
    const named = name !== undefined && isDeclared(schema, name) && !isEmpty(node.children)
    return remainder(node, node.member || named, withNamedFields(schemaBelow(schema, element), node.children))
  })
}

const fitted = new WeakMap<Schema, WeakMap<FieldSet, FieldSet>>()

/**
 * The set as the schema of today has it: who owned parts of something that is now owned as a whole owns it
 * whole. The opposite change needs nothing, since the owner of the whole is then the owner of an item with
 * nothing below it.
 */
export function fitToSchema(schema: Schema, set: FieldSet): FieldSet {
  let sets = fitted.get(schema)
  if (sets === undefined) fitted.set(schema, (sets = new WeakMap()))
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
 * What an object has before anything is put into it: structs whose default is `{}` are always there, and so
 * are required lists and maps, as null. Creating an object claims what is in them but not the fields
 * themselves.
 */
export function emptyObject(schema: Schema): JsonObject {
  const known = emptyObjects.get(schema)
  if (known !== undefined) return known
  const object: JsonObject = {}
  // Kept before it is complete: a schema that contains itself ends here.
  emptyObjects.set(schema, object)
  if (schema.type !== 'struct') return object
  for (const [name, field] of schema.fields) {
    const { type } = field.schema
    if (type === 'struct' && isEmptyStruct(field.default)) setValue(object, name, emptyObject(field.schema))
    else if ((type === 'list' || type === 'map') && field.required) setValue(object, name, null)
  }
  return object
}

function isEmptyStruct(value: unknown): boolean {
  const map = asMap(value as JsonValue | undefined)
  return map !== undefined && Object.keys(map).length === 0
}
