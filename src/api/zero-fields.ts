/**
 * Fields that Kubernetes includes in JSON even if they are absent, since its encoder omits only the empty fields
 * that are marked so: `serviceName: ""` of a StatefulSet, `resources: {}` of a container, `rules: null` of a Role.
 *
 * Objects in memory have the zero values of scalars and structs, but no nulls: they are added when an object is
 * encoded and removed when it is decoded, so that an absent list or time is always undefined. All functions return
 * the same object if nothing changes.
 */
import type { Field, ListSchema, ScalarSchema, Schema, StructSchema } from './schema.ts'
import { deepFreeze, type JsonValue } from './text/json-value.ts'
import { isObject, put, type JsonObject } from './text/json-object.ts'

/** Adds the zero values of scalars and structs. */
export function withZeroFields<T extends object>(object: T, schema: StructSchema): T {
  return change(object as JsonObject, planOf(schema), 'add zeros') as T
}

/** Adds the zero values and nulls: the object that patches and managed fields are about. */
export function withAbsentFields<T extends object>(object: T, schema: StructSchema): T {
  return change(object as JsonObject, planOf(schema), 'add zeros and nulls') as T
}

/** The same for an object that is encoded: empty lists and maps are absent in what Kubernetes has stored. */
export function withEncodedFields<T extends object>(object: T, schema: StructSchema): T {
  return change(object as JsonObject, planOf(schema), 'encode') as T
}

/** Removes the nulls that `withEncodedFields` adds. */
export function withoutNullFields<T extends object>(object: T, schema: StructSchema): T {
  return change(object as JsonObject, planOf(schema), 'remove nulls') as T
}

/** The zero value of a struct. Frozen and shared. */
export function zeroStruct(schema: StructSchema): JsonObject {
  return planOf(schema).zero
}

type Change = 'add zeros' | 'add zeros and nulls' | 'encode' | 'remove nulls'

/** The fields of a struct that matter, computed once. */
interface Plan {
  readonly zeros: readonly ZeroField[]
  readonly nulls: readonly string[]
  /** The lists and maps among `nulls`. */
  readonly collections: ReadonlySet<string>
  readonly children: readonly Child[]
  readonly zero: JsonObject
  readonly encodedZero: JsonObject
}

interface ZeroField {
  readonly name: string
  readonly zero: JsonValue
  readonly encodedZero: JsonValue
}

/** A field whose values can contain such fields. */
interface Child {
  readonly name: string
  readonly schema: Schema
}

const plans = new WeakMap<StructSchema, Plan>()

function planOf(schema: StructSchema): Plan {
  const known = plans.get(schema)
  if (known) return known
  const zeros: ZeroField[] = []
  const nulls: string[] = []
  const collections = new Set<string>()
  const children: Child[] = []
  for (const [name, field] of schema.fields) {
    if (field.absent === 'zero') zeros.push({ name, ...zeroOf(field.schema) })
    if (field.absent === 'null') nulls.push(name)
    if (field.schema.type === 'list' || field.schema.type === 'map') collections.add(name)
    if (isAffected(field.schema, new Set([schema]))) children.push({ name, schema: field.schema })
  }
  const encodedZero = Object.fromEntries([
    ...zeros.map(each => [each.name, each.encodedZero]),
    ...nulls.map(name => [name, null]),
  ])
  const zero = Object.fromEntries(zeros.map(each => [each.name, each.zero]))
  deepFreeze([zero, encodedZero])
  const plan = { zeros, nulls, collections, children, zero, encodedZero }
  plans.set(schema, plan)
  return plan
}

/** True if values of the schema can contain such fields. */
function isAffected(schema: Schema, above: ReadonlySet<StructSchema>): boolean {
  if (schema.type === 'list') return isAffected(schema.items, above)
  if (schema.type === 'map') return isAffected(schema.values, above)
  if (schema.type !== 'struct') return false
  if (above.has(schema) || plans.has(schema)) return true
  const within = new Set([...above, schema])
  return schema.fields.values().some((field: Field) => {
    return field.absent !== undefined || isAffected(field.schema, within)
  })
}

function zeroOf(schema: Schema): Pick<Plan, 'zero' | 'encodedZero'> | Omit<ZeroField, 'name'> {
  if (schema.type === 'struct') return planOf(schema)
  const zero = scalarZeros[schema.type as ScalarSchema['type']]
  return { zero, encodedZero: zero }
}

/** In Go. */
export const scalarZeros: Readonly<Record<ScalarSchema['type'], JsonValue>> = {
  'string': '',
  'boolean': false,
  'integer': 0,
  'number': 0,
  'int-or-string': 0,
  'quantity': '0',
}

function change(object: JsonObject, plan: Plan, how: Change): JsonObject {
  let changed: JsonObject | undefined
  for (const { name, schema } of plan.children) {
    const before = object[name]
    if (before === undefined || before === null) continue
    const after = changeValue(before, schema, how)
    if (after !== before) (changed ??= { ...object })[name] = after
  }
  if (how === 'remove nulls') {
    for (const name of plan.nulls) if (object[name] === null) delete (changed ??= { ...object })[name]
    return changed ?? object
  }
  const isEncoded = how !== 'add zeros'
  for (const { name, zero, encodedZero } of plan.zeros) {
    if (object[name] === undefined) (changed ??= { ...object })[name] = isEncoded ? encodedZero : zero
  }
  if (!isEncoded) return changed ?? object
  for (const name of plan.nulls) {
    const value = object[name]
    if (value === undefined || (how === 'encode' && isEmptyCollection(value, plan, name))) {
      ;(changed ??= { ...object })[name] = null
    }
  }
  return changed ?? object
}

function isEmptyCollection(value: JsonValue, { collections }: Plan, name: string): boolean {
  if (typeof value !== 'object' || value === null || !collections.has(name)) return false
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0
}

function changeValue(value: JsonValue, schema: Schema, how: Change): JsonValue {
  if (schema.type === 'struct') return isObject(value) ? change(value, planOf(schema), how) : value
  if (schema.type === 'list') return Array.isArray(value) ? changeList(value, schema, how) : value
  if (schema.type !== 'map' || !isObject(value)) return value
  let changed: JsonObject | undefined
  for (const key in value) {
    const before = value[key] as JsonValue
    const after = changeValue(before, schema.values, how)
    if (after !== before) put((changed ??= { ...value }), key, after)
  }
  return changed ?? value
}

function changeList(list: readonly JsonValue[], schema: ListSchema, how: Change): JsonValue {
  let changed: JsonValue[] | undefined
  for (let index = 0; index < list.length; index++) {
    const before = list[index] as JsonValue
    const after = changeValue(before, schema.items, how)
    if (after !== before) (changed ??= [...list])[index] = after
  }
  return changed ?? (list as JsonValue)
}
