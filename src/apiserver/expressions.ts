/**
 * Expressions in the files with which an administrator configures the server: about the claims of a token,
 * about a user, about a question who may do what. They are checked when the file is read.
 */
import { CelError } from '#/cel/cel-error.ts'
import { compile } from '#/cel/cel.ts'
import { Budget, expressionCostMax } from '#/cel/cost.ts'
import { Environment } from '#/cel/environment.ts'
import { fromJson } from '#/cel/json.ts'
import { kubernetesLibraries } from '#/cel/library.ts'
import { boolType, dynType, showType, type ObjectType, type Type } from '#/cel/type.ts'
import type { Value } from '#/cel/value.ts'

export { EvaluationError } from '#/cel/evaluation-error.ts'

/** What an expression speaks of: one variable. */
export interface Subject {
  readonly name: string
  readonly type: Type
  readonly environment: Environment
}

/** Says what it comes to for a value of the variable. Throws EvaluationError. */
export type Expression<T extends Value> = (about: object) => T

export function subject(name: string, type: Type): Subject {
  return {
    name,
    type,
    environment: new Environment({ variables: { [name]: type }, libraries: kubernetesLibraries }),
  }
}

/** What is wrong with an expression before it has run, in the words of the API. */
export class ExpressionError extends Error {}

/** Throws ExpressionError. What it gives must be looked at. */
export function compileExpression(text: string, about: Subject): Expression<Value> {
  return compileAs(text, about, dynType)
}

/** Throws ExpressionError, also when it would not give a bool. */
export function compileCondition(text: string, about: Subject): Expression<boolean> {
  return compileAs(text, about, boolType) as Expression<boolean>
}

function compileAs(text: string, { name, type, environment }: Subject, wanted: Type): Expression<Value> {
  try {
    const program = compile(text, environment)
    if (wanted !== dynType && program.type.kind !== wanted.kind) {
      throw new ExpressionError(`must evaluate to ${showType(wanted)} but got ${showType(program.type)}`)
    }
    return value => program.evaluate({ [name]: fromJson(value, type) }, new Budget(expressionCostMax))
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    throw new ExpressionError(`compilation failed: ${error.message}`, { cause: error })
  }
}

/** A type with these fields and no others. */
export function objectType(name: string, fields: Readonly<Record<string, Type>>): ObjectType {
  return { name, field: field => (Object.hasOwn(fields, field) ? fields[field] : undefined) }
}
