/**
 * Compiles the CEL expressions of policies. Compilation errors are kept in the result: validation reports
 * them when the policy is written, and an already stored policy fails at evaluation.
 */
import { admissionEnvironment } from '#/cel/admission-environment.ts'
import { type Compiled, compileExpression } from '#/cel/compile-expression.ts'
import type { Environment } from '#/cel/environment.ts'
import { jsonPatchLibrary, jsonPatchType } from '#/cel/library.ts'
import { constructedObjectType, objectConstructorLibrary } from '#/cel/object-constructors.ts'
import { PolicyVariables } from '#/cel/policy-variables.ts'
import { boolType, dynType, listOf, nullType, objectOf, stringType } from '#/cel/type.ts'

/** Required fields may be missing before validation. */
interface WrittenSpec {
  readonly paramKind?: object
  readonly matchConditions?: readonly { readonly expression?: string }[]
  readonly variables?: readonly { readonly name?: string; readonly expression?: string }[]
}

export interface WrittenValidatingSpec extends WrittenSpec {
  readonly validations?: readonly WrittenValidation[]
  readonly auditAnnotations?: readonly { readonly key?: string; readonly valueExpression?: string }[]
}

interface WrittenValidation {
  readonly expression?: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
}

export interface WrittenMutatingSpec extends WrittenSpec {
  readonly mutations?: readonly WrittenMutation[]
}

interface WrittenMutation {
  readonly patchType?: string
  readonly applyConfiguration?: { readonly expression?: string }
  readonly jsonPatch?: { readonly expression?: string }
}

interface CompiledPolicy {
  readonly conditions: readonly Compiled[]
  readonly variables: PolicyVariables
  /** In definition order. */
  readonly definitions: readonly Compiled[]
}

export interface CompiledValidatingPolicy extends CompiledPolicy {
  readonly validations: readonly CompiledValidation[]
  readonly auditAnnotations: readonly { readonly key: string; readonly value: Compiled }[]
}

export interface CompiledValidation {
  readonly condition: Compiled
  readonly message?: string
  readonly messageExpression?: Compiled
  readonly reason?: string
}

export interface CompiledMutatingPolicy extends CompiledPolicy {
  readonly mutations: readonly CompiledMutation[]
}

export interface CompiledMutation {
  readonly type: 'apply' | 'patch'
  readonly expression: Compiled
}

export function compileValidatingPolicy(spec: WrittenValidatingSpec): CompiledValidatingPolicy {
  const { validations = [], auditAnnotations = [], variables: defined = [] } = spec
  const { variables, params, ...shared } = compileShared(spec)
  // `variables` is declared only if the policy defines any.
  const names = { ...params, ...(defined.length > 0 && { variables: variables.type }) }
  const environment = admissionEnvironment({ ...names, authorizer: true })
  // messageExpression has no access to `authorizer`.
  const messages = admissionEnvironment(names)
  return {
    ...shared,
    variables,
    validations: validations.map(({ expression = '', message, messageExpression, reason }) => ({
      condition: compileExpression(expression, environment, [boolType]),
      ...(message && { message }),
      ...(messageExpression && {
        messageExpression: compileExpression(messageExpression, messages, [stringType]),
      }),
      ...(reason && { reason }),
    })),
    auditAnnotations: auditAnnotations.map(({ key = '', valueExpression = '' }) => ({
      key,
      value: compileExpression(valueExpression.trim(), environment, [stringType, nullType]),
    })),
  }
}

export function compileMutatingPolicy(spec: WrittenMutatingSpec): CompiledMutatingPolicy {
  const { variables, params, ...shared } = compileShared(spec)
  const environment = admissionEnvironment({
    ...params,
    authorizer: true,
    variables: variables.type,
    libraries: [objectConstructorLibrary, jsonPatchLibrary],
  })
  const { mutations = [] } = spec
  return {
    ...shared,
    variables,
    mutations: mutations.map(({ patchType, applyConfiguration, jsonPatch }) => {
      if (patchType === 'JSONPatch') {
        const expression = jsonPatch?.expression?.trim() ?? ''
        return { type: 'patch', expression: compileExpression(expression, environment, [patchTypes]) }
      }
      const expression = applyConfiguration?.expression?.trim() ?? ''
      return {
        type: 'apply',
        expression: compileExpression(expression, environment, [constructedObjectType]),
      }
    }),
  }
}

const patchTypes = listOf(objectOf(jsonPatchType))

function compileShared({ paramKind, matchConditions = [], variables: defined = [] }: WrittenSpec) {
  const params = paramKind ? { params: dynType } : {}
  const variables = new PolicyVariables()
  const environment: Environment = admissionEnvironment({
    ...params,
    authorizer: true,
    variables: variables.type,
  })
  // matchConditions have no access to `variables`.
  const conditions = admissionEnvironment({ ...params, authorizer: true })
  return {
    params,
    variables,
    definitions: defined.map(({ name = '', expression = '' }) =>
      // A variable without an expression is not declared.
      expression.trim() === ''
        ? compileExpression('', environment, [dynType])
        : variables.define({ name, expression }, environment),
    ),
    conditions: matchConditions.map(({ expression = '' }) =>
      compileExpression(expression.trim(), conditions, [boolType]),
    ),
  }
}
