/** Applies one mutation of a policy to an object. */
import { messageOf } from '#/base/message-of.ts'
import { ApiError, apiError, internalError } from '#/api/errors.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { StructuredMergeError, applyStructuredMerge } from '#/api/structured-merge.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { applyPatch, JsonPatchTestError } from '#/api/patch.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { EvaluationError } from '#/cel/evaluation-error.ts'
import { ExpressionRun, CostBudgetExceeded } from '#/cel/expression-run.ts'
import { toJson } from '#/cel/json.ts'
import { checkConstructed } from '#/cel/object-constructors.ts'
import type { PolicyVariables } from '#/cel/policy-variables.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import { ListValue, ObjectValue, type Value } from '#/cel/value.ts'
import type { MatchedResource } from '../matching/resource-rules.ts'
import { decodeMutated, schemaOf, versioned } from '../webhooks/versioned-object.ts'
import type { CompiledMutation } from './compile-policy.ts'
import { policyCostMax } from './evaluate-validations.ts'
import { PolicyError } from './policy-error.ts'

export interface MutationInput {
  readonly object: KubernetesObject
  readonly matched: MatchedResource
  /** CEL variables. */
  readonly inputs: Readonly<Record<string, Value>>
  readonly variables: PolicyVariables
}

/**
 * Returns the same object if nothing changes. Throws PolicyError if the policy cannot be evaluated, and
 * ApiError if the result is not a valid object of the kind.
 */
export async function mutateObject(
  { type, expression }: CompiledMutation,
  { object, matched, inputs, variables }: MutationInput,
): Promise<KubernetesObject> {
  // The same message that validation reports when the policy is written.
  if (expression instanceof InvalidExpression) throw new PolicyError(expression.message)
  const value = await evaluate(new ExpressionRun({ inputs, costMax: policyCostMax, variables }), expression)
  const before = await versioned(object, matched)
  const made = type === 'apply' ? applied(value, before, matched) : patched(value, before)
  if (made === undefined) return object
  const { object: after, unknownFields } = await decodeMutated(object, made, matched)
  if (unknownFields.length === 0) return after
  const names = unknownFields.map(field => `unknown field ${JSON.stringify(field)}`)
  throw internalError(`strict decoding error: ${names.join(', ')}`)
}

async function evaluate(
  run: ExpressionRun,
  expression: Parameters<ExpressionRun['evaluate']>[0],
): Promise<Value> {
  try {
    const { value, error } = await run.evaluate(expression)
    if (error === undefined) return value
    throw new PolicyError(error)
  } catch (error) {
    if (error instanceof CostBudgetExceeded) throw new PolicyError(error.message)
    throw error
  }
}

function applied(value: Value, object: KubernetesObject, matched: MatchedResource): JsonValue {
  const schema = schemaOf(matched)
  if (schema === undefined) throw unknownKind(matched)
  const configuration = {
    ...(jsonOf(value) as { [name: string]: JsonValue }),
    apiVersion: apiVersionOf(matched.kind),
    kind: matched.kind.kind,
  }
  try {
    return applyStructuredMerge(object as unknown as { [name: string]: JsonValue }, configuration, schema)
  } catch (error) {
    if (!(error instanceof StructuredMergeError)) throw error
    throw new PolicyError(`error applying patch: ${error.message}`)
  }
}

function unknownKind({ kind: { group, version, kind } }: MatchedResource): ApiError {
  return apiError(
    'ServiceUnavailable',
    `Resource kind ${group}/${version}, Kind=${kind} not found. There can be a delay between when ` +
      'CustomResourceDefinitions are created and when they are available.',
  )
}

/** Undefined if a `test` operation of the JSON patch fails. */
function patched(value: Value, object: KubernetesObject): JsonValue | undefined {
  try {
    return applyPatch('json', { current: object as unknown as JsonValue, patch: operationsOf(value) })
  } catch (error) {
    if (error instanceof JsonPatchTestError) return undefined
    if (!(error instanceof ApiError)) throw error
    // The message names no operation, the cause does.
    throw new PolicyError(`JSON Patch: ${messageOf(error.cause ?? error)}`)
  }
}

/** The type has already been checked at compile time. */
function operationsOf(value: Value): JsonValue {
  if (!(value instanceof ListValue)) throw new PolicyError('type mismatch: not a list of JSONPatch')
  return Array.from(value, operation => {
    if (!(operation instanceof ObjectValue)) throw new PolicyError('type mismatch: not a JSONPatch')
    const text = (field: string): string => {
      const found = operation.field(field)
      return typeof found === 'string' ? found : ''
    }
    const from = text('from')
    const given = operation.field('value')
    return {
      op: text('op'),
      path: text('path'),
      ...(from && { from }),
      ...(given !== undefined && { value: jsonOf(given) }),
    }
  })
}

function jsonOf(value: Value): JsonValue {
  const errors = checkConstructed(value)
  if (errors.length > 0) throw new PolicyError(`type mismatch: ${errors.join('\n')}`)
  try {
    return toJson(value)
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error
    throw new PolicyError(`expression result cannot be converted to JSON: ${error.message}`)
  }
}
