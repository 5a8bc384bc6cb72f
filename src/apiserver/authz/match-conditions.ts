/**
 * The matchConditions of an authorization webhook: it is called only if all conditions hold. A single false
 * condition skips it, regardless of errors in other conditions.
 */
import type { SubjectAccessReviewSpec } from '#/api/generated/authorization/v1.ts'
import { duplicate, invalid, required, tooMany, type FieldError } from '#/api/field-error.ts'
import { listOf, mapOf, objectOf, stringType } from '#/cel/type.ts'
import {
  compileCondition,
  EvaluationError,
  ExpressionError,
  objectType,
  subject,
  type Subject,
} from '../expressions.ts'
import { MatchConditionError } from './webhook-authorizer.ts'

export interface MatchCondition {
  readonly expression?: string
}

const conditionsMax = 64

export function validateMatchConditions(field: string, conditions: readonly MatchCondition[]): FieldError[] {
  if (conditions.length > conditionsMax) return [tooMany(field, conditions.length, conditionsMax)]
  const expressions = conditions.map(({ expression = '' }) => expression)
  return expressions.flatMap((expression, index) => {
    const at = `${field}[${index}].expression`
    if (expression.trim() === '') return [required(at, '')]
    if (expressions.indexOf(expression) < index) return [duplicate(at, expression)]
    try {
      compileCondition(expression, request)
      return []
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      return [invalid(at, expression, error.message)]
    }
  })
}

/** Throws ExpressionError. The returned function throws MatchError if a condition cannot be evaluated. */
export function compileMatchConditions(
  conditions: readonly MatchCondition[],
): (review: SubjectAccessReviewSpec) => boolean {
  const compiled = conditions.map(({ expression = '' }) => compileCondition(expression, request))
  return review => {
    const about = withEmptyLists(review)
    const errors: string[] = []
    for (const holds of compiled) {
      try {
        if (!holds(about)) return false
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error
        errors.push(error.message)
      }
    }
    if (errors.length > 0)
      throw new MatchConditionError(`failed to evaluate matchConditions: ${errors.join(', ')}`)
    return true
  }
}

/** Missing fields become empty values in CEL. */
function withEmptyLists(review: SubjectAccessReviewSpec): object {
  const { user = '', uid = '', groups = [], extra = {} } = review
  const { resourceAttributes: resource } = review
  const empty = { namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: '' }
  return {
    ...review,
    user,
    uid,
    groups,
    extra,
    ...(resource && { resourceAttributes: { ...empty, ...resource } }),
  }
}

const strings = listOf(stringType)

const requirement = objectOf(
  objectType('kubernetes.SelectorRequirement', { key: stringType, operator: stringType, values: strings }),
)

const selector = objectOf(
  objectType('kubernetes.SelectorAttributes', { rawSelector: stringType, requirements: listOf(requirement) }),
)

const request: Subject = subject(
  'request',
  objectOf(
    objectType('kubernetes.SubjectAccessReviewSpec', {
      resourceAttributes: objectOf(
        objectType('kubernetes.ResourceAttributes', {
          namespace: stringType,
          verb: stringType,
          group: stringType,
          version: stringType,
          resource: stringType,
          subresource: stringType,
          name: stringType,
          fieldSelector: selector,
          labelSelector: selector,
        }),
      ),
      nonResourceAttributes: objectOf(
        objectType('kubernetes.NonResourceAttributes', { path: stringType, verb: stringType }),
      ),
      user: stringType,
      groups: strings,
      extra: mapOf(stringType, strings),
      uid: stringType,
    }),
  ),
)
