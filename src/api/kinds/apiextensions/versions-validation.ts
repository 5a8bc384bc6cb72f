/**
 * Validation of the versions of a custom resource. Errors in fields that are equal in all versions are
 * reported once, with the `v1beta1` path: `spec.validation` instead of `spec.versions[0].schema`.
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../../generated/apiextensions/v1.ts'
import { equalJson } from '../../text/json-value.ts'
import { checkDns1035Label } from '../../names.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateSchema } from './schema-validation.ts'
import { someSchema, validatePatternSizes } from '../../custom-resources/subschemas.ts'
import { validateColumn, validateSelectableFields, validateSubresources } from './version-parts-validation.ts'

type Version = Unchecked<CustomResourceDefinitionVersion>

export function validateVersions(spec: Unchecked<CustomResourceDefinitionSpec>): FieldError[] {
  const { versions = [], preserveUnknownFields } = spec
  const isShared = sharedParts(versions)
  const [first] = versions
  const hasStatus = versions.some(({ subresources }) => subresources?.status !== undefined)
  return [
    ...versions.flatMap((version, index) =>
      schemaOf(version) === undefined ? [required(`spec.versions[${index}].schema.openAPIV3Schema`, '')] : [],
    ),
    ...(preserveUnknownFields && versions.some(hasDefaults)
      ? [invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema')]
      : []),
    ...versions.flatMap((version, index) => validateVersion(index, version, isShared)),
    ...validateSet(versions),
    ...(first?.name ? validateVersionName('spec.version', first.name) : []),
    ...(first
      ? validateParts(
          partFields(part => (isShared(part) ? 'spec' : undefined)),
          first,
          hasStatus,
        )
      : []),
  ]
}

const parts = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

type Part = (typeof parts)[number]

/** Returns a test for whether a part is equal in all versions. */
function sharedParts(versions: readonly Version[]): (part: Part) => boolean {
  const [first] = versions
  const shared = new Set<Part>(
    parts.filter(part => {
      return versions.every(version => equalJson(version[part], first?.[part]))
    }),
  )
  return part => shared.has(part)
}

/** Field path of each part in error messages; parts without a path are validated elsewhere. */
type PartFields = Readonly<Partial<Record<Part, string>>>

function partFields(ownerOf: (part: Part) => string | undefined): PartFields {
  const fields: Partial<Record<Part, string>> = {}
  for (const part of parts) {
    const owner = ownerOf(part)
    const name = part === 'schema' && owner === 'spec' ? 'validation' : part
    if (owner !== undefined) fields[part] = `${owner}.${name}`
  }
  return fields
}

function validateVersion(index: number, version: Version, isShared: (part: Part) => boolean): FieldError[] {
  const field = `spec.versions[${index}]`
  const fields = partFields(part => (isShared(part) ? undefined : field))
  return [
    ...validateVersionName(`${field}.name`, version.name ?? ''),
    ...validateDeprecation(`${field}.deprecationWarning`, version),
    ...validateParts(fields, version, version.subresources?.status !== undefined),
  ]
}

function validateVersionName(field: string, name: string): FieldError[] {
  const problems = checkDns1035Label(name)
  return problems.length > 0 ? [invalid(field, name, problems.join(','))] : []
}

function hasDefaults(version: Version): boolean {
  const schema = schemaOf(version)
  return schema !== undefined && someSchema(schema, each => each.default !== undefined)
}

function validateParts(fields: PartFields, version: Version, hasStatus: boolean): FieldError[] {
  const { subresources = {}, additionalPrinterColumns: columns = [], selectableFields = [] } = version
  const { additionalPrinterColumns: columnsField } = fields
  const schema = schemaOf(version)
  return [
    ...(fields.schema && schema ? validateSchema(`${fields.schema}.openAPIV3Schema`, schema, hasStatus) : []),
    ...(fields.subresources ? validateSubresources(fields.subresources, subresources) : []),
    ...(columnsField
      ? columns.flatMap((column, index) => validateColumn(`${columnsField}[${index}]`, column))
      : []),
    ...(fields.selectableFields && selectableFields.length > 0
      ? validateSelectable(fields.selectableFields, selectableFields, schema)
      : []),
  ]
}

function validateSelectable(
  field: string,
  selectable: NonNullable<Version['selectableFields']>,
  schema: JSONSchemaProps | undefined,
): FieldError[] {
  if (schema !== undefined)
    return validatePatternSizes('', schema).length === 0
      ? validateSelectableFields(field, selectable, schema)
      : []
  // The texts are those of Kubernetes, although one of them says the opposite.
  const detail = field.startsWith('spec.versions[')
    ? 'may only be set when `version.schema.openAPIV3Schema` is not included'
    : 'may only be set when validations.schema is included'
  return [invalid(field, '', detail)]
}

function validateSet(versions: readonly Version[]): FieldError[] {
  const names = new Set(versions.map(({ name = '' }) => name))
  const stored = versions.filter(({ storage }) => storage === true)
  const errors: FieldError[] = []
  if (names.size < versions.length) {
    errors.push(invalid('spec.versions', versions, 'must contain unique version names'))
  }
  if (stored.length !== 1) {
    const shown = versions.length === 0 ? null : versions
    errors.push(invalid('spec.versions', shown, 'must have exactly one version marked as storage version'))
  }
  return errors
}

const warningCharactersMax = 256

function validateDeprecation(field: string, { deprecated, deprecationWarning: text }: Version): FieldError[] {
  if (text === undefined) return []
  if (!deprecated) return [invalid(field, text, 'can only be set for deprecated versions')]
  const errors: FieldError[] = []
  if (Buffer.byteLength(text) > warningCharactersMax) {
    errors.push(invalid(field, text, `must be <= ${warningCharactersMax} characters long`))
  }
  if (text === '') errors.push(invalid(field, text, 'must not be an empty string'))
  const index = text.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u)
  if (index === -1) return errors
  const at = Buffer.byteLength(text.slice(0, index))
  const detail = `must only contain printable UTF-8 characters; non-printable character found at index ${at}`
  return [...errors, invalid(field, text, detail)]
}

function schemaOf({ schema }: Version): JSONSchemaProps | undefined {
  return schema?.openAPIV3Schema as JSONSchemaProps | undefined
}
