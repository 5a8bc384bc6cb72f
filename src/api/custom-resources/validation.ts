/** Validation of a custom resource: its schema, the fields of its scale, lists, and the rules of its schema. */
import { invalid, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { jsonOf, type KubernetesObject } from '../metadata.ts'
import { get, type JsonObject } from '../text/json-object.ts'
import type { CustomResourceOptions } from './custom-resource.ts'
import { compileEmbeddedCheck } from './embedded-resources.ts'
import { propertyOf, someSchema } from './subschemas.ts'
import { compileListCheck } from './validate-lists.ts'
import { compileScaleCheck } from './validate-scale.ts'
import { compileSchemaCheck } from './validate-schema.ts'

export type Validation = (
  object: KubernetesObject,
  old: KubernetesObject | undefined,
  metadataErrors?: readonly FieldError[],
) => FieldError[]

export interface Validations {
  /** Of a new object, and of an update of the whole object. */
  readonly object: Validation
  /** Of an update of the status. */
  readonly status: Validation
}

/** Errors after which rules cannot be evaluated: they rely on types, sizes and required fields. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
])

export function compileValidation(
  { version, validateExpressions = () => [] }: CustomResourceOptions,
  schema: JSONSchemaProps | undefined,
): Validations {
  const { scale } = version.subresources ?? {}
  const scaleCheck = scale && compileScaleCheck(scale)
  const checkSchema = schema && compileSchemaCheck(schema)
  const checkStatus = schema && compileStatusCheck(schema)
  const checkEmbedded = schema && compileEmbeddedCheck(schema)
  const checkLists = schema && compileListCheck(schema)
  const hasRules = schema !== undefined && someSchema(schema, hasOwnRules)
  const listErrors = (json: JsonObject, old: JsonObject | undefined): readonly FieldError[] => {
    const errors = checkLists?.(json) ?? []
    // Errors that the stored object has are not reported again.
    return errors.length > 0 && old !== undefined && checkLists!(old).length > 0 ? [] : errors
  }
  const withRules = (errors: FieldError[], { json, old, metadataErrors = [] }: Validated): FieldError[] => {
    if (!hasRules) return errors
    const isBlocked = [...metadataErrors, ...errors].some(({ reason }) => blocking.has(reason))
    return [...errors, ...(isBlocked ? [notEvaluated] : validateExpressions(json, old))]
  }
  return {
    object: (object, oldObject, metadataErrors) => {
      const json = jsonOf(object)
      const old = oldObject && jsonOf(oldObject)
      const errors = [
        ...(checkSchema?.(json, old) ?? []),
        ...(scaleCheck?.spec(json) ?? []),
        ...(scaleCheck?.status(json) ?? []),
        ...(checkEmbedded?.(json) ?? []),
        ...listErrors(json, old),
      ]
      return withRules(errors, { json, old, metadataErrors })
    },
    status: (object, oldObject, metadataErrors) => {
      const json = jsonOf(object)
      const old = oldObject && jsonOf(oldObject)
      const errors = [
        ...(checkStatus?.(json, old) ?? []),
        ...(scaleCheck?.status(json) ?? []),
        ...listErrors(json, old),
      ]
      return withRules(errors, { json, old, metadataErrors })
    },
  }
}

interface Validated {
  readonly json: JsonObject
  readonly old: JsonObject | undefined
  readonly metadataErrors: readonly FieldError[] | undefined
}

function hasOwnRules(schema: JSONSchemaProps): boolean {
  return (schema['x-kubernetes-validations']?.length ?? 0) > 0
}

/** Undefined if the schema does not restrict the status. Messages name fields relative to the status. */
function compileStatusCheck(
  root: JSONSchemaProps,
): ((object: JsonObject, old: JsonObject | undefined) => FieldError[]) | undefined {
  const schema = propertyOf(root, 'status')
  const check = schema && compileSchemaCheck(schema)
  return (
    check &&
    ((object, old) => {
      const status = get(object, 'status')
      if (status === undefined) return []
      return check(status, old && get(old, 'status')).map(error => ({
        ...error,
        field: error.field === '<nil>' || error.field === '' ? 'status' : `status.${error.field}`,
      }))
    })
  )
}

const notEvaluated = invalid(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; ' +
    'correct the existing errors to complete validation',
)
