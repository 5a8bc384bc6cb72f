/**
 * CEL expressions in configuration files: about token claims, users and access reviews. They are compiled
 * when the file is read.
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

/** The single variable of an expression. */
export interface Subject {
  readonly name: string
  readonly type: Type
  readonly environment: Environment
}

/** Evaluates the expression for a value of the variable. Throws EvaluationError. */
export type Expression<T extends Value> = (about: object) => T

export function subject(name: string, type: Type): Subject {
  return {
    name,
    type,
    environment: new Environment({ variables: { [name]: type }, libraries: kubernetesLibraries }),
  }
}

/** Compilation error, with Kubernetes' message. */
export class ExpressionError extends Error {}

/** Throws ExpressionError. The type of the result is not checked. */
export function compileExpression(text: string, about: Subject): Expression<Value> {
  return compileAs(text, about, dynType)
}

/** Throws ExpressionError, also if the expression is not boolean. */
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

/** An object type with exactly these fields. */
export function objectType(name: string, fields: Readonly<Record<string, Type>>): ObjectType {
  return { name, field: field => (Object.hasOwn(fields, field) ? fields[field] : undefined) }
}
