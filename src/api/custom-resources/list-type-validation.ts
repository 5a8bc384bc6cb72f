/** Validation of `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`. */
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { itemsOf, propertyOf } from './subschemas.ts'

const listTypeName = 'x-kubernetes-list-type'
const mapTypeName = 'x-kubernetes-map-type'
const keysName = 'x-kubernetes-list-map-keys'

export function validateMapType(field: string, schema: JSONSchemaProps): FieldError[] {
  const mapType = schema[mapTypeName]
  if (mapType === undefined) return []
  const isKnown = mapType === 'atomic' || mapType === 'granular'
  return [
    ...validateTypeIs(field, schema, { wanted: 'object', because: mapTypeName }),
    ...(isKnown ? [] : [notSupported(`${field}.${mapTypeName}`, mapType, ['atomic', 'granular'])]),
  ]
}

export function validateListType(field: string, schema: JSONSchemaProps): FieldError[] {
  const listType = schema[listTypeName]
  const keys = schema[keysName] ?? []
  const errors: FieldError[] = []
  if (listType !== undefined)
    errors.push(...validateTypeIs(field, schema, { wanted: 'array', because: listTypeName }))
  if (listType === 'set' && schema.type === 'array') errors.push(...validateSetItems(field, schema))
  if (listType !== undefined && listType !== 'atomic' && listType !== 'set' && listType !== 'map') {
    errors.push(notSupported(`${field}.${listTypeName}`, listType, ['atomic', 'set', 'map']))
  }
  if (keys.length > 0 && listType !== 'map') {
    const detail = `must be map if ${keysName} is non-empty`
    const typeField = `${field}.${listTypeName}`
    errors.push(listType === undefined ? required(typeField, detail) : invalid(typeField, listType, detail))
  }
  if (listType === 'map') errors.push(...validateMapList(field, schema, keys))
  if ((listType === 'set' || listType === 'map') && itemsOf(schema)?.nullable) {
    const detail = `cannot be nullable when ${listTypeName} is ${listType}`
    errors.push(forbiddenField(`${field}.items.nullable`, detail))
  }
  return listType === 'map' ? [...errors, ...validateKeys(field, schema, keys)] : errors
}

function validateTypeIs(
  field: string,
  { type = '' }: JSONSchemaProps,
  { wanted, because }: { readonly wanted: string; readonly because: string },
): FieldError[] {
  if (type === wanted) return []
  const detail = `must be ${wanted} if ${because} is specified`
  return [type === '' ? required(`${field}.type`, detail) : invalid(`${field}.type`, type, detail)]
}

/** Items of a set must be atomic. */
function validateSetItems(field: string, schema: JSONSchemaProps): FieldError[] {
  const items = itemsOf(schema)
  if (!items) return []
  const detail = `must be atomic as item of a list with ${listTypeName}=set`
  const { type, [listTypeName]: listType, [mapTypeName]: mapType } = items
  if (type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalid(`${field}.items.${listTypeName}`, listType, detail)]
  }
  if (type !== 'object' || mapType === 'atomic') return []
  return [invalid(`${field}.items.${mapTypeName}`, mapType ?? null, detail)]
}

/** Items of a list of type `map` must be objects with keys. */
function validateMapList(field: string, schema: JSONSchemaProps, keys: readonly string[]): FieldError[] {
  const items = itemsOf(schema)
  const errors: FieldError[] = []
  if (keys.length === 0) {
    errors.push(required(`${field}.${keysName}`, `must not be empty if ${listTypeName} is map`))
  }
  if (!items) {
    errors.push(
      schema.items === undefined
        ? required(`${field}.items`, `must have a schema if ${listTypeName} is map`)
        : invalid(`${field}.items`, schema.items, `must only have a single schema if ${listTypeName} is map`),
    )
    return errors
  }
  if (items.type === 'object') return [...errors, ...validateKeyNames(field, items, keys)]
  const detail = `must be object if parent array's ${listTypeName} is map`
  return [...errors, invalid(`${field}.items.type`, items.type ?? '', detail)]
}

function validateKeyNames(field: string, items: JSONSchemaProps, keys: readonly string[]): FieldError[] {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  for (const key of keys) {
    const property = propertyOf(items, key)
    if (!property) {
      errors.push(invalid(`${field}.${keysName}`, keys, 'entries must all be names of item properties'))
    } else if (property.type === 'array' || property.type === 'object') {
      const detail = `must be a scalar type if parent array's ${listTypeName} is map`
      errors.push(invalid(`${field}.items.properties[${key}].type`, property.type, detail))
    }
    if (seen.has(key)) {
      errors.push(invalid(`${field}.${keysName}`, keys, 'must not contain duplicate entries'))
    }
    seen.add(key)
  }
  return errors
}

/** Keys must be required or have a default, and must not be nullable. */
function validateKeys(field: string, schema: JSONSchemaProps, keys: readonly string[]): FieldError[] {
  const items = itemsOf(schema)
  if (!items) return []
  const requiredNames = new Set(items.required)
  return keys.flatMap(key => {
    const property = propertyOf(items, key)
    const place = `${field}.items.properties[${key}]`
    const because = `this property is in ${keysName}, so it`
    if (!property) return []
    return [
      ...(requiredNames.has(key) || property.default !== undefined
        ? []
        : [required(`${place}.default`, `${because} must have a default or be a required property`)]),
      ...(property.nullable ? [forbiddenField(`${place}.nullable`, `${because} cannot be nullable`)] : []),
    ]
  })
}
