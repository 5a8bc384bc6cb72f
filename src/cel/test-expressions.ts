/**
 * Tables of expressions with expected results for tests, one per line. After `=>` stands an expression of the
 * same value and type, after `=>!` the run-time error, after `=>?` the first compile error. An error ending
 * in `...` is a prefix.
 */
import assert from 'node:assert/strict'
import { bindingsLibrary } from './library.ts'
import { CelError } from './cel-error.ts'
import { compile } from './cel.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { Environment } from './environment.ts'
import { equals } from './equality.ts'
import { EvaluationError } from './evaluation-error.ts'
import { fromJson, toJson } from './json.ts'
import { boolType, dynType, intType, listOf, mapOf, stringType } from './type.ts'
import { OpaqueValue, Optional, typeName, type Value } from './value.ts'

const object = {
  name: 'web',
  replicas: 3,
  large: 9_007_199_254_740_993n,
  ratio: 0.5,
  on: true,
  nothing: null,
  list: [1, 2, 3],
  mixed: [1, 'a', null, [2]],
  labels: { 'app': 'web', 'a.b/c': 'x' },
  containers: [
    { name: 'a', image: 'x:1' },
    { name: 'b', image: 'y:2', port: 80 },
  ],
}

export const testEnvironment: Environment = new Environment({
  variables: {
    'object': dynType,
    'flag': boolType,
    'number': intType,
    'names': listOf(stringType),
    'limits': mapOf(stringType, intType),
    'deep.name': stringType,
    'unset': intType,
  },
  libraries: [bindingsLibrary],
})

export const testVariables: Readonly<Record<string, Value>> = {
  'object': fromJson(object, dynType),
  'flag': true,
  'number': 7n,
  'names': fromJson(['a', 'b', 'c'], listOf(stringType)),
  'limits': fromJson({ cpu: 2, memory: 4 }, mapOf(stringType, intType)),
  'deep.name': 'below',
}

interface TableOptions {
  readonly environment?: Environment
  readonly variables?: Readonly<Record<string, Value>>
}

export function checkExpressions(
  table: string,
  { environment = testEnvironment, variables = testVariables }: TableOptions = {},
): void {
  const failures: string[] = []
  const lines = table.split('\n').filter(line => line.trim() !== '')
  assert.notEqual(lines.length, 0)
  for (const line of lines) {
    const match = /^(.*) =>([!?]?) (.*)$/.exec(line)
    assert.ok(match, `no case: ${line}`)
    const [, expression = '', kind = '', expected = ''] = match
    const actual = run(expression.trim(), environment, variables)
    if (kind === '') {
      const wanted = run(expected.trim(), environment, variables)
      if (!same(actual, wanted)) failures.push(`${line}\n     got ${show(actual)}`)
    } else if (!isComplaint(actual, kind, expected.trim())) failures.push(`${line}\n     got ${show(actual)}`)
  }
  assert.equal(failures.join('\n'), '')
}

type Outcome = { readonly value: Value } | { readonly error: CelError | EvaluationError }

function run(
  expression: string,
  environment: Environment,
  variables: Readonly<Record<string, Value>>,
): Outcome {
  try {
    return { value: compile(expression, environment).evaluate(variables, new Budget(expressionCostMax)) }
  } catch (error) {
    if (error instanceof CelError || error instanceof EvaluationError) return { error }
    throw error
  }
}

function isComplaint(actual: Outcome, kind: string, message: string): boolean {
  if (!('error' in actual)) return false
  const { error } = actual
  const found = error instanceof CelError ? (error.issues[0]?.message ?? '') : error.message
  const isKind = kind === (error instanceof CelError ? '?' : '!')
  return isKind && (message.endsWith('...') ? found.startsWith(message.slice(0, -3)) : found === message)
}

function same(actual: Outcome, wanted: Outcome): boolean {
  if (!('value' in actual) || !('value' in wanted)) return false
  const [a, b] = [actual.value, wanted.value]
  if (typeof a === 'number' && Number.isNaN(a)) return typeof b === 'number' && Number.isNaN(b)
  return typeName(a) === typeName(b) && equals(a, b)
}

function show(outcome: Outcome): string {
  if ('error' in outcome) return `${outcome.error.name}: ${outcome.error.message}`
  const { value } = outcome
  if (value instanceof Optional) {
    return value.value === undefined ? 'optional.none()' : `optional.of(${show({ value: value.value })})`
  }
  const text =
    value instanceof OpaqueValue ? '' : JSON.stringify(toJson(value), (_, each) => textOfInteger(each))
  return `${typeName(value)} ${text}`
}

function textOfInteger(value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}
