/**
 * Resolves the policies, bindings and params that apply to a request; shared by validating and mutating
 * policies.
 */
import { ApiError, notFound } from '#/api/errors.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Compiled } from '#/cel/compile-expression.ts'
import type { Value } from '#/cel/value.ts'
import type { AdmissionAttributes } from '../admission-chain.ts'
import { getCached, getCachedOrStored } from '../lookup.ts'
import { evaluateMatchConditions, joinErrors } from '../matching/conditions.ts'
import type { ExpressionInput } from '../matching/expressions.ts'
import { requestFields } from '../matching/request-fields.ts'
import type { MatchedResource } from '../matching/resource-rules.ts'
import { namespaceOf } from '../matching/selectors.ts'
import type { PluginContext } from '../plugin-context.ts'
import { versioned } from '../webhooks/versioned-object.ts'
import { collectParams, findParamResource } from './collect-params.ts'
import { PolicyError } from './policy-error.ts'
import type { CompiledBinding, Binding, BoundPolicy, Policy } from './policy-source.ts'

/** One evaluation of a policy: a matching binding with one of its params objects. */
export interface Invocation<P, B, C> {
  readonly bound: BoundPolicy<P, B, C>
  readonly binding: CompiledBinding<B>
  readonly matched: MatchedResource
  readonly params: KubernetesObject | null
}

/** A policy or binding that cannot be evaluated for the request. */
export interface PolicyConfigurationError<P, B, C> {
  readonly bound: BoundPolicy<P, B, C>
  /** Undefined if the policy itself is misconfigured. */
  readonly binding?: CompiledBinding<B>
  readonly message: string
}

export type InvocationResult<P, B, C> =
  | { readonly invocation: Invocation<P, B, C>; readonly failure?: undefined }
  | { readonly invocation?: undefined; readonly failure: PolicyConfigurationError<P, B, C> }

/** One result for each matching binding and params object of the policy. */
export async function invocationsOf<P extends Policy, B extends Binding, C>(
  context: PluginContext,
  bound: BoundPolicy<P, B, C>,
  request: AdmissionAttributes,
): Promise<readonly InvocationResult<P, B, C>[]> {
  const match = await attempt('policy', async () => {
    const matched = bound.matcher.match(request)
    if (matched === undefined || !(await bound.matcher.selectsNamespace(context, request))) return undefined
    return { matched, resource: findParamResource(context.scheme, bound.policy.spec?.paramKind) }
  })
  if (match === undefined) return []
  if ('problem' in match) return [{ failure: { bound, message: match.problem } }]
  const results: InvocationResult<P, B, C>[] = []
  for (const binding of bound.bindings) {
    const params = await attempt('binding', () => paramsOf(context, binding, { request, ...match }))
    if (params === undefined) continue
    if ('problem' in params) results.push({ failure: { bound, binding, message: params.problem } })
    else {
      for (const each of params)
        results.push({ invocation: { bound, binding, matched: match.matched, params: each } })
    }
  }
  return results
}

/** Undefined if the binding does not match the request. */
async function paramsOf<B extends Binding>(
  context: PluginContext,
  { binding, matcher }: CompiledBinding<B>,
  { request, resource }: { readonly request: AdmissionAttributes; readonly resource: Resource | undefined },
): Promise<readonly (KubernetesObject | null)[] | undefined> {
  if (matcher) {
    if (!matcher.match(request) || !(await matcher.selectsNamespace(context, request))) return undefined
  }
  return collectParams(context, {
    resource,
    paramRef: binding.spec?.paramRef,
    namespace: namespaceOf(request),
  })
}

async function attempt<T extends object>(
  what: 'policy' | 'binding',
  work: () => Promise<T | undefined>,
): Promise<T | { readonly problem: string } | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PolicyError) && !(error instanceof ApiError)) throw error
    return { problem: `failed to configure ${what}: ${error.message}` }
  }
}

/**
 * The CEL variable `namespaceObject`; null for cluster-scoped requests. Throws ApiError 404 if the namespace
 * does not exist.
 */
export async function namespaceObjectOf(
  context: PluginContext,
  { namespace: name }: AdmissionAttributes,
): Promise<KubernetesObject | null> {
  if (name === '') return null
  const found =
    getCached(context, namespaces, { name }) ?? (await getCachedOrStored(context, namespaces, { name }))
  if (found === undefined) throw notFound({ group: '', kind: 'namespaces', name })
  return found
}

/** The CEL variables of a request, without `authorizer`. */
export async function inputOf(
  request: AdmissionAttributes,
  { matched, params }: Pick<Invocation<never, never, never>, 'matched' | 'params'>,
  namespaceObject: KubernetesObject | null,
): Promise<ExpressionInput> {
  const { object, oldObject } = request
  return {
    object: object ? await versioned(object, matched) : null,
    oldObject: oldObject ? await versioned(oldObject, matched) : null,
    request: requestFields(request, matched),
    params,
    namespaceObject,
  }
}

export interface MatchConditionInput {
  readonly bound: BoundPolicy<Policy, unknown, { readonly conditions: readonly Compiled[] }>
  readonly inputs: Readonly<Record<string, Value>>
  readonly type: 'admit' | 'validate'
}

/**
 * True if the matchConditions hold. On errors, returns false with failurePolicy Ignore and otherwise throws
 * PolicyError.
 */
export async function matchesConditions(
  { platform, metrics }: PluginContext,
  { operation }: AdmissionAttributes,
  { bound: { name, policy, compiled }, inputs, type }: MatchConditionInput,
): Promise<boolean> {
  if (compiled.conditions.length === 0) return true
  const startedMs = platform.clock.monotonicMs()
  // `namespaceObject` is null in matchConditions, as in Kubernetes.
  const { matches, errors } = await evaluateMatchConditions(compiled.conditions, {
    ...inputs,
    namespaceObject: null,
  })
  metrics?.admission.conditions(
    { name, kind: 'policy', type, operation },
    {
      seconds: (platform.clock.monotonicMs() - startedMs) / 1_000,
      errors: errors.length,
      isExcluded: !matches,
    },
  )
  if (!matches || errors.length === 0) return matches
  if (policy.spec?.failurePolicy === 'Ignore') return false
  throw new PolicyError(joinErrors(errors))
}
