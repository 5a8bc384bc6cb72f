/**
 * Validates the CEL expressions of admission policies, which the validation of their kinds does not cover.
 */
import { invalid, type FieldError } from '#/api/field-error.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { type Compiled, InvalidExpression } from '#/cel/compile-expression.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import {
  compileMutatingPolicy,
  compileValidatingPolicy,
  type WrittenMutatingSpec,
  type WrittenValidatingSpec,
} from './policies/compile-policy.ts'

export const validatingAdmissionPolicyHooks: ResourceHooks = {
  validate: (object, oldObject) => (isUnchanged(object, oldObject) ? [] : validateValidating(object)),
}

export const mutatingAdmissionPolicyHooks: ResourceHooks = {
  validate: (object, oldObject) => (isUnchanged(object, oldObject) ? [] : validateMutating(object)),
}

/**
 * Unchanged specs are not validated again, so that stored policies stay valid if CEL validation becomes
 * stricter.
 */
function isUnchanged(object: KubernetesObject, oldObject: KubernetesObject | undefined): boolean {
  return oldObject !== undefined && equalJson(specOf(object), specOf(oldObject))
}

function specOf(object: KubernetesObject): JsonValue {
  return ((object as { readonly spec?: object }).spec ?? null) as JsonValue
}

function validateValidating(object: KubernetesObject): FieldError[] {
  const { spec = {} } = object as { readonly spec?: WrittenValidatingSpec }
  const compiled = compileValidatingPolicy(spec)
  return [
    ...validateShared(compiled),
    ...compiled.validations.flatMap(({ condition, messageExpression }, index) => [
      ...validate(`spec.validations[${index}].expression`, condition),
      ...validate(`spec.validations[${index}].messageExpression`, messageExpression),
    ]),
    ...compiled.auditAnnotations.flatMap(({ value }, index) =>
      validate(`spec.auditAnnotations[${index}].valueExpression`, value),
    ),
  ]
}

function validateMutating(object: KubernetesObject): FieldError[] {
  const { spec = {} } = object as { readonly spec?: WrittenMutatingSpec }
  const compiled = compileMutatingPolicy(spec)
  return [
    ...validateShared(compiled),
    ...compiled.mutations.flatMap(({ type, expression }, index) => {
      const patch = type === 'apply' ? 'applyConfiguration' : 'jsonPatch'
      return validate(`spec.mutations[${index}].${patch}.expression`, expression)
    }),
  ]
}

function validateShared({
  conditions,
  definitions,
}: {
  readonly conditions: readonly Compiled[]
  readonly definitions: readonly Compiled[]
}): FieldError[] {
  return [
    ...conditions.flatMap((each, index) => validate(`spec.matchConditions[${index}].expression`, each)),
    ...definitions.flatMap((each, index) => validate(`spec.variables[${index}].expression`, each)),
  ]
}

/** An empty expression is reported by the validation of the kind. */
function validate(field: string, compiled: Compiled | undefined): FieldError[] {
  if (!(compiled instanceof InvalidExpression) || compiled.expression.trim() === '') return []
  return [invalid(field, compiled.expression, compiled.message)]
}
