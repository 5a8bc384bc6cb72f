/** Applies a check to every value of an object whose schema has one. */
import type { FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { isObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { itemsOf, valuesOf } from './subschemas.ts'

/** Validates a value at a path: `spec.items[0]`, empty for the root. */
export type ValueCheck = (value: JsonValue, path: string) => FieldError[]

/** The walks of schemas, shared by several roots within one schema. */
export type Walks = Map<JSONSchemaProps, ValueCheck | undefined>

/** Undefined if no schema within this one has a check. */
export function compileWalk(
  schema: JSONSchemaProps,
  checkOf: (schema: JSONSchemaProps) => ValueCheck | undefined,
  walks: Walks = new Map(),
): ValueCheck | undefined {
  if (walks.has(schema)) return walks.get(schema)
  const walk = createWalk(schema, checkOf, walks)
  walks.set(schema, walk)
  return walk
}

function createWalk(
  schema: JSONSchemaProps,
  checkOf: (schema: JSONSchemaProps) => ValueCheck | undefined,
  walks: Walks,
): ValueCheck | undefined {
  const check = checkOf(schema)
  const within = (nested: JSONSchemaProps | undefined) => nested && compileWalk(nested, checkOf, walks)
  const checkItem = within(itemsOf(schema))
  const checkValue = within(valuesOf(schema))
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const checkProperty = within(property)
    return checkProperty ? [[name, checkProperty] as const] : []
  })
  if (!check && !checkItem && !checkValue && properties.length === 0) return undefined
  return (value, path) => {
    const errors = check?.(value, path) ?? []
    if (Array.isArray(value)) {
      if (!checkItem) return errors
      return [...errors, ...value.flatMap((item, index) => checkItem(item, `${path}[${index}]`))]
    }
    if (!isObject(value)) return errors
    return [
      ...errors,
      ...properties.flatMap(([name, checkProperty]) => {
        const place = path === '' ? name : `${path}.${name}`
        return Object.hasOwn(value, name) ? checkProperty(value[name] as JsonValue, place) : []
      }),
      ...(checkValue
        ? Object.entries(value).flatMap(([name, each]) => checkValue(each, `${path}[${name}]`))
        : []),
    ]
  }
}
