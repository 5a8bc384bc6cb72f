/**
 * Compiles expressions of API objects, which must have one of certain result types, with Kubernetes' error
 * messages.
 */
import { CelError } from './cel-error.ts'
import { compile, type Program } from './cel.ts'
import type { Environment } from './environment.ts'
import { typeArguments, showType, type Type } from './type.ts'

/** An expression that does not compile or has the wrong result type. */
export class InvalidExpression {
  readonly expression: string
  /** Compile error. */
  readonly message: string

  constructor(expression: string, message: string) {
    this.expression = expression
    this.message = message
  }
}

export type Compiled = Program | InvalidExpression

/** The result must have one of `types`; any type is accepted if absent. */
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

/** Like the result of `type()`, with type arguments: `list(google.protobuf.Timestamp)`. */
function runtimeName(type: Type): string {
  const name = runtimeNames.get(type.kind)
  if (name !== undefined) return name
  const parts = typeArguments(type)
  if (parts.length === 0) return showType(type)
  const head = type.kind === 'optional' ? 'optional_type' : type.kind
  return `${head}(${parts.map(runtimeName).join(', ')})`
}

const runtimeNames: ReadonlyMap<string, string> = new Map([
  ['null', 'null_type'],
  ['timestamp', 'google.protobuf.Timestamp'],
  ['duration', 'google.protobuf.Duration'],
])
