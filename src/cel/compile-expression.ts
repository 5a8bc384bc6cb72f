/**
 * Expressions in API objects: compiled for a place that takes certain types only, with what is wrong in the words
 * of the API.
 */
import { CelError } from './cel-error.ts'
import { compile, type Program } from './cel.ts'
import type { Environment } from './environment.ts'
import { partsOf, showType, type Type } from './type.ts'

/** An expression that is none: it cannot be understood, or does not give what its place takes. */
export class InvalidExpression {
  readonly expression: string
  /** What is wrong. */
  readonly message: string

  constructor(expression: string, message: string) {
    this.expression = expression
    this.message = message
  }
}

export type Compiled = Program | InvalidExpression

/** It must give one of the types. Without types every one will do. */
export function compileExpression(
  expression: string,
  environment: Environment,
  types: readonly Type[] = [],
): Compiled {
  const program = compileOrExplain(expression, environment)
  if (types.length === 0 || program instanceof InvalidExpression) return program
  const actual = runtimeName(program.type)
  const wanted = types.map(runtimeName)
  if (wanted.includes(actual)) return program
  const choice = wanted.length === 1 ? wanted.join('') : `one of [${wanted.join(' ')}]`
  return new InvalidExpression(expression, `must evaluate to ${choice} but got ${actual}`)
}

function compileOrExplain(expression: string, environment: Environment): Compiled {
  try {
    return compile(expression, environment)
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    return new InvalidExpression(expression, `compilation failed: ${error.message}`)
  }
}

/** As `type()` would show it, with what is inside: `list(google.protobuf.Timestamp)`. */
function runtimeName(type: Type): string {
  const name = runtimeNames.get(type.kind)
  if (name !== undefined) return name
  const parts = partsOf(type)
  if (parts.length === 0) return showType(type)
  const head = type.kind === 'optional' ? 'optional_type' : type.kind
  return `${head}(${parts.map(runtimeName).join(', ')})`
}

const runtimeNames: ReadonlyMap<string, string> = new Map([
  ['null', 'null_type'],
  ['timestamp', 'google.protobuf.Timestamp'],
  ['duration', 'google.protobuf.Duration'],
])
