/**
 * Validation of schemas inside `allOf`, `anyOf`, `oneOf` and `not`: they may restrict values but must not
 * define structure.
 */
import { compileRegularExpression, RegularExpressionError } from '#/base/regular-expression.ts'
import { forbiddenField, invalid, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { equalJson } from '../text/json-value.ts'
import { itemsOf, propertyOf, valuesOf } from './subschemas.ts'

/** Errors of the combinators in a schema and of its pattern. */
export function validateNestedValueValidation(
  field: string,
  schema: JSONSchemaProps,
  isIntOrString = false,
): FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = schema
  const problem = pattern ? patternProblem(pattern) : undefined
  // The only type declarations allowed in a combinator: `anyOf` integer and string.
  const isKnownPattern = isIntOrString || isNumberOrText(anyOf)
  return [
    ...(isKnownPattern
      ? []
      : anyOf.flatMap((each, index) => validateNested(`${field}.anyOf[${index}]`, each))),
    ...allOf.flatMap((each, index) => {
      return validateNested(`${field}.allOf[${index}]`, each, index === 0 && isNumberOrText(each.anyOf ?? []))
    }),
    ...oneOf.flatMap((each, index) => validateNested(`${field}.oneOf[${index}]`, each)),
    ...(not ? validateNested(`${field}.not`, not) : []),
    ...(problem === undefined
      ? []
      : [invalid(`${field}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]),
  ]
}

/** The error message of an invalid regular expression. Schemas repeat their patterns. */
function patternProblem(pattern: string): string | undefined {
  if (problems.size >= problemsMax) problems.clear()
  return problems.getOrInsertComputed(pattern, findProblem)
}

const problems = new Map<string, string | undefined>()
/** Maximum number of patterns whose result is kept. */
const problemsMax = 1_000

function findProblem(pattern: string): string | undefined {
  try {
    compileRegularExpression(pattern)
    return undefined
  } catch (error) {
    if (error instanceof RegularExpressionError) return error.message
    throw error
  }
}

/** Fields used in a combinator must also be defined in the surrounding schema. */
export function validateStructuralCompleteness(field: string, schema: JSONSchemaProps): FieldError[] {
  return combinationsOf(schema).flatMap(({ suffix, nested }) => {
    return validateDefined({ field, schema }, { field: field + suffix, schema: nested })
  })
}

interface Place {
  readonly field: string
  readonly schema: JSONSchemaProps
}

function validateDefined(defined: Place, nested: Place): FieldError[] {
  const inner = combinationsOf(nested.schema).flatMap(({ suffix, nested: schema }) => {
    return validateDefined(defined, { field: nested.field + suffix, schema })
  })
  const parts = [
    ['.items', itemsOf(nested.schema), itemsOf(defined.schema)] as const,
    ...Object.entries(nested.schema.properties ?? {}).map(([name, schema]) => {
      return [`.properties[${name}]`, schema, propertyOf(defined.schema, name)] as const
    }),
  ]
  return [
    ...inner,
    ...parts.flatMap(([suffix, schema, counterpart]) => {
      if (!schema) return []
      const place = { field: nested.field + suffix, schema }
      if (counterpart) return validateDefined({ field: defined.field + suffix, schema: counterpart }, place)
      return [required(defined.field + suffix, `because it is defined in ${place.field}`)]
    }),
  ]
}

function combinationsOf(
  schema: JSONSchemaProps,
): { readonly suffix: string; readonly nested: JSONSchemaProps }[] {
  const lists = (['allOf', 'anyOf', 'oneOf'] as const).flatMap(name => {
    return (schema[name] ?? []).map((nested, index) => ({ suffix: `.${name}[${index}]`, nested }))
  })
  return schema.not ? [{ suffix: '.not', nested: schema.not }, ...lists] : lists
}

function isNumberOrText(anyOf: readonly JSONSchemaProps[]): boolean {
  return equalJson(anyOf, [{ type: 'integer' }, { type: 'string' }])
}

/** Keywords not allowed inside a combinator, with the word that the error message requires. */
const outsideOnly = [
  ['type', 'empty'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
] as const

function validateNested(field: string, schema: JSONSchemaProps, isIntOrString = false): FieldError[] {
  const items = itemsOf(schema)
  const isMap = schema.additionalProperties === true || valuesOf(schema) !== undefined
  return [
    ...validateNestedValueValidation(field, schema, isIntOrString),
    ...(items ? validateNested(`${field}.items`, items) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      return validateNested(`${field}.properties[${name}]`, property)
    }),
    ...(isMap ? [forbiddenField(`${field}.additionalProperties`, 'must be undefined to be structural')] : []),
    ...outsideOnly
      .filter(([name]) => isSaid(schema[name]))
      .map(([name, state]) => {
        return forbiddenField(`${field}.${name}`, `must be ${state} to be structural`)
      }),
    ...(propertyOf(schema, 'metadata')
      ? [forbiddenField(`${field}.properties[metadata]`, 'must not be specified in a nested context')]
      : []),
  ]
}

function isSaid(value: unknown): boolean {
  return (
    value !== undefined &&
    value !== null &&
    value !== '' &&
    value !== false &&
    !(Array.isArray(value) && value.length === 0)
  )
}
