/**
 * Validation of version fields that several versions may share: subresources, printer columns, selectable
 * fields.
 */
import { duplicate, invalid, required, tooMany, type FieldError } from '../../field-error.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceSubresources,
  JSONSchemaProps,
  SelectableField,
} from '../../generated/apiextensions/v1.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { findField, type FoundField } from '../../custom-resources/field-path.ts'

export function validateSubresources(
  field: string,
  { scale }: Unchecked<CustomResourceSubresources>,
): FieldError[] {
  if (!scale) return []
  const { specReplicasPath: wanted = '', statusReplicasPath: actual = '' } = scale
  const { labelSelectorPath: selector = '' } = scale
  const selectorField = `${field}.scale.labelSelectorPath`
  return [
    ...validatePathUnder(`${field}.scale.specReplicasPath`, wanted, 'spec'),
    ...validatePathUnder(`${field}.scale.statusReplicasPath`, actual, 'status'),
    ...(selector === '' || selector.startsWith('.spec.') || selector.startsWith('.status.')
      ? []
      : [
          invalid(
            selectorField,
            selector,
            selector.startsWith('.')
              ? 'should be a json path under either .spec or .status'
              : simplePathDetail,
          ),
        ]),
  ]
}

export function validateColumn(
  field: string,
  column: Unchecked<CustomResourceColumnDefinition>,
): FieldError[] {
  const { name = '', type = '', format = '', jsonPath = '' } = column
  const errors: FieldError[] = []
  if (name === '') errors.push(required(`${field}.name`, ''))
  const typeDetail = `must be one of ${columnTypes.join(',')}`
  if (type === '') errors.push(required(`${field}.type`, typeDetail))
  else if (!columnTypes.includes(type)) errors.push(invalid(`${field}.type`, type, typeDetail))
  if (format !== '' && !columnFormats.includes(format)) {
    errors.push(invalid(`${field}.format`, format, `must be one of ${columnFormats.join(',')}`))
  }
  if (jsonPath === '') errors.push(required(`${field}.JSONPath`, ''))
  else if (!jsonPath.startsWith('.')) errors.push(invalid(`${field}.JSONPath`, jsonPath, simplePathDetail))
  return errors
}

export function validateSelectableFields(
  field: string,
  selectable: readonly Unchecked<SelectableField>[],
  schema: JSONSchemaProps,
): FieldError[] {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, { jsonPath = '' }] of selectable.entries()) {
    const place = `${field}[${index}].jsonPath`
    const found = jsonPath === '' ? undefined : findSelectable(jsonPath, schema)
    if (found === undefined) errors.push(required(place, ''))
    else if (typeof found === 'string') errors.push(invalid(place, jsonPath, `is an invalid path: ${found}`))
    else {
      errors.push(...validateFound(place, jsonPath, found))
      const identity = found.names.join('.')
      if (seen.has(identity)) errors.push(duplicate(place, jsonPath))
      seen.add(identity)
    }
  }
  return seen.size > selectableMax ? [...errors, tooMany(field, seen.size, selectableMax)] : errors
}

const selectableMax = 8
const simplePathDetail = 'must be a simple json path starting with .'
const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function validatePathUnder(field: string, path: string, top: string): FieldError[] {
  if (path === '') return [required(field, '')]
  if (!path.startsWith('.')) return [invalid(field, path, simplePathDetail)]
  return path.startsWith(`.${top}.`) ? [] : [invalid(field, path, `should be a json path under .${top}`)]
}

function findSelectable(jsonPath: string, schema: JSONSchemaProps): FoundField | string {
  return jsonPath.includes('[') ? 'array notation is not allowed' : findField(jsonPath, schema)
}

function validateFound(field: string, path: string, { names, schema: { type } }: FoundField): FieldError[] {
  const errors: FieldError[] = []
  if (names[0] === 'metadata') errors.push(invalid(field, path, 'must not point to fields in metadata'))
  if (type === 'string' || type === 'boolean' || type === 'integer') return errors
  const detail =
    'must point to a field of type string, boolean or integer. Enum string fields and strings ' +
    'with formats are allowed.'
  return [...errors, invalid(field, path, detail)]
}
