/** Evaluates the CEL expressions on token claims and users. */
import { ListValue, type Value } from '#/cel/value.ts'
import { dynType, listOf, mapOf, objectOf, stringType } from '#/cel/type.ts'
import { EvaluationError, objectType, subject, type Expression, type Subject } from '../expressions.ts'

export const claimsSubject: Subject = subject('claims', mapOf(stringType, dynType))

const strings = listOf(stringType)

export const userSubject: Subject = subject(
  'user',
  objectOf(
    objectType('kubernetes.UserInfo', {
      username: stringType,
      uid: stringType,
      groups: strings,
      extra: mapOf(stringType, strings),
    }),
  ),
)

/** A validation rule. */
export interface Rule {
  readonly expression: string
  readonly holds: Expression<boolean>
  /** Error message if the rule does not hold. */
  readonly message: string
}

/** Returns why a rule rejects the claims or user; undefined if all rules hold. */
export function firstFailedRule(rules: readonly Rule[], about: object): string | undefined {
  for (const { expression, holds, message } of rules) {
    try {
      if (!holds(about)) return message || `validation rule ${expression} failed`
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      return `validation rule ${expression} could not be evaluated: ${error.message}`
    }
  }
  return undefined
}

/** Undefined if the expression fails or does not return a string. */
export function evaluateString(expression: Expression<Value>, about: object): string | undefined {
  const value = evaluate(expression, about)
  return typeof value === 'string' ? value : undefined
}

/**
 * Accepts a string, a list of strings or null; empty strings are dropped. Undefined if the expression fails
 * or returns another type.
 */
export function evaluateStrings(expression: Expression<Value>, about: object): readonly string[] | undefined {
  const value = evaluate(expression, about)
  if (value === null) return []
  const values = value instanceof ListValue ? [...value] : [value]
  return values.every(each => typeof each === 'string') ? values.filter(each => each !== '') : undefined
}

function evaluate(expression: Expression<Value>, about: object): Value | undefined {
  try {
    return expression(about)
  } catch (error) {
    if (error instanceof EvaluationError) return undefined
    throw error
  }
}
