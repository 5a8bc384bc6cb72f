/** Applies a check to every value of an object whose schema has one. */
import type { FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { isObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { itemsOf, valuesOf } from './subschemas.ts'

/** Validates a value at a path: `spec.items[0]`, empty for the root. */
export type ValueCheck = (value: JsonValue, path: string) => FieldError[]

/** Adds the errors of a value and of all values within it. */
type Walk = (value: JsonValue, path: string, errors: FieldError[]) => void

/** The walks of schemas, shared by several roots within one schema. */
export type Walks = Map<JSONSchemaProps, Walk | undefined>

/** Undefined if no schema within this one has a check. */
export function compileWalk(
  schema: JSONSchemaProps,
  checkOf: (schema: JSONSchemaProps) => ValueCheck | undefined,
  walks: Walks = new Map(),
): ValueCheck | undefined {
  const walk = walkOf(schema, checkOf, walks)
  return (
    walk &&
    ((value, path) => {
      const errors: FieldError[] = []
      walk(value, path, errors)
      return errors
    })
  )
}

function walkOf(
  schema: JSONSchemaProps,
  checkOf: (schema: JSONSchemaProps) => ValueCheck | undefined,
  walks: Walks,
): Walk | undefined {
  if (walks.has(schema)) return walks.get(schema)
  const walk = createWalk(schema, checkOf, walks)
  walks.set(schema, walk)
  return walk
}

function createWalk(
  schema: JSONSchemaProps,
  checkOf: (schema: JSONSchemaProps) => ValueCheck | undefined,
  walks: Walks,
): Walk | undefined {
  const check = checkOf(schema)
  const within = (nested: JSONSchemaProps | undefined) => nested && walkOf(nested, checkOf, walks)
  const walkItem = within(itemsOf(schema))
  const walkValue = within(valuesOf(schema))
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const walkProperty = within(property)
    return walkProperty ? [[name, walkProperty] as const] : []
  })
  if (!check && !walkItem && !walkValue && properties.length === 0) return undefined
  return (value, path, errors) => {
    if (check) for (const error of check(value, path)) errors.push(error)
    if (Array.isArray(value)) {
      if (walkItem) value.forEach((item, index) => walkItem(item, `${path}[${index}]`, errors))
      return
    }
    if (!isObject(value)) return
    for (const [name, walkProperty] of properties) {
      if (!Object.hasOwn(value, name)) continue
      walkProperty(value[name] as JsonValue, path === '' ? name : `${path}.${name}`, errors)
    }
    if (walkValue) {
      for (const [name, each] of Object.entries(value)) walkValue(each, `${path}[${name}]`, errors)
    }
  }
}
