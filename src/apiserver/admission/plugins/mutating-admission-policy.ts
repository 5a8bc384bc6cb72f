/**
 * Mutates objects with CEL policies, one after the other, in order of name. Policies with reinvocationPolicy
 * IfNeeded run at most once more if the object changes after them.
 * https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/
 */
import { ApiError } from '#/api/errors.ts'
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '#/api/generated/admissionregistration/v1.ts'
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from '#/api/generated/admissionregistration/v1-resources.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { AuthorizerValue } from '#/cel/authorizer.ts'
import { errorTypeOf } from '../../metrics/admission-policies.ts'
import {
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmittedObject,
  type Reinvocation,
} from '../admission-chain.ts'
import { authorizerValue, admissionVariables } from '../matching/expressions.ts'
import type { PluginContext } from '../plugin-context.ts'
import { authorizeParams, isPolicyResource } from '../policies/authorize-params.ts'
import { compileMutatingPolicy, type CompiledMutatingPolicy } from '../policies/compile-policy.ts'
import { checkPolicyConfiguration } from '../policies/configuration.ts'
import {
  matchesConditions,
  inputOf,
  invocationsOf,
  namespaceObjectOf,
  type Invocation,
} from '../policies/invocation.ts'
import { mutateObject } from '../policies/mutate-object.ts'
import { PolicyError } from '../policies/policy-error.ts'
import { isExemptFromPolicies, PolicySource, type BoundPolicy } from '../policies/policy-source.ts'
import { ReinvocationContext } from '../webhooks/reinvocation-context.ts'

const name = 'MutatingAdmissionPolicy'

const resources = { policies: mutatingAdmissionPolicies, bindings: mutatingAdmissionPolicyBindings }

export function mutatingAdmissionPolicy(context: PluginContext, configuration?: JsonValue): AdmissionPlugin {
  checkPolicyConfiguration(name, configuration)
  const source = new PolicySource(context, {
    ...resources,
    compile: ({ spec = {} }) => compileMutatingPolicy(spec),
  })
  const remembered = new WeakMap<Reinvocation, ReinvocationContext>()
  return {
    name,
    handles: ({ resource }) => !isExemptFromPolicies(resource) || isPolicyResource(resources, resource),
    mutate(request, reinvocation) {
      if (request.object === undefined || isExemptFromPolicies(request.resource)) return request.object
      const concerned = source.bound.filter(({ matcher }) => matcher.match(request))
      if (concerned.length === 0) return request.object
      const reinvocations = remembered.get(reinvocation) ?? new ReinvocationContext(reinvocation)
      remembered.set(reinvocation, reinvocations)
      return new Dispatch(context, request, reinvocations).run(concerned)
    },
    validate(request) {
      return isPolicyResource(resources, request.resource)
        ? authorizeParams(context, resources, request)
        : undefined
    },
  }
}

type Bound = BoundPolicy<MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, CompiledMutatingPolicy>
type OneInvocation = Invocation<
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  CompiledMutatingPolicy
>

/** One pass of a request through the policies. */
class Dispatch {
  readonly #context: PluginContext
  readonly #request: AdmissionAttributes
  readonly #reinvocations: ReinvocationContext
  readonly #authorizer: AuthorizerValue
  readonly #errors: PolicyFailure[] = []
  #object: KubernetesObject

  constructor(context: PluginContext, request: AdmissionAttributes, reinvocations: ReinvocationContext) {
    this.#context = context
    this.#request = request
    this.#reinvocations = reinvocations
    this.#authorizer = authorizerValue(context.authorizer, request.user)
    this.#object = request.object!
  }

  /** Throws ApiError when the request is rejected. */
  async run(policies: readonly Bound[]): Promise<AdmittedObject> {
    const reinvocations = this.#reinvocations
    const invocations = await this.#invocations(policies)
    reinvocations.begin(this.#object)
    const before = this.#object
    for (const invocation of invocations) await this.#invoke(invocation)
    // If any policy changed the object, the policies called since the last change are reinvoked too, as in
    // Kubernetes.
    if (this.#object !== before) reinvocations.changed()
    reinvocations.end(this.#object)
    if (this.#errors.length > 0) throw refusal(this.#request, this.#errors)
    return this.#object
  }

  async #invocations(policies: readonly Bound[]): Promise<readonly OneInvocation[]> {
    const invocations: OneInvocation[] = []
    for (const bound of policies) {
      for (const { invocation, failure } of await invocationsOf(this.#context, bound, this.#request)) {
        if (invocation) invocations.push(invocation)
        else {
          const { binding, message } = failure
          this.#fail(bound, { ...(binding && { binding: binding.name }), message })
        }
      }
    }
    return invocations
  }

  async #invoke(invocation: OneInvocation): Promise<void> {
    const { bound } = invocation
    const id = idOf(invocation)
    if (!this.#reinvocations.mayCall(id) || !(await this.#matchesConditions(invocation))) return
    const before = this.#object
    for (const mutation of bound.compiled.mutations) await this.#mutate(invocation, mutation)
    if (this.#object !== before) this.#reinvocations.changed()
    if (bound.policy.spec?.reinvocationPolicy === 'IfNeeded') this.#reinvocations.called(id)
  }

  async #matchesConditions(invocation: OneInvocation): Promise<boolean> {
    const { bound, binding } = invocation
    const inputs = await this.#inputs(invocation)
    try {
      return await matchesConditions(this.#context, this.#request, { bound, inputs, type: 'admit' })
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error
      this.#fail(bound, { binding: binding.name, message: error.message, reason: 'Invalid' })
      return false
    }
  }

  async #mutate(
    invocation: OneInvocation,
    mutation: CompiledMutatingPolicy['mutations'][number],
  ): Promise<void> {
    const { bound, binding, matched } = invocation
    const { clock } = this.#context.platform
    const startedMs = clock.monotonicMs()
    const measure = (message?: string): void => {
      const seconds = (clock.monotonicMs() - startedMs) / 1_000
      const place = { policy: bound.name, binding: binding.name }
      this.#context.metrics?.admission.policies.mutated({ ...place, error: errorTypeOf(message), seconds })
    }
    const object = this.#object
    const inputs = await this.#inputs(invocation)
    try {
      const mutated = await mutateObject(mutation, {
        object,
        matched,
        inputs,
        variables: bound.compiled.variables,
      })
      if (mutated !== object && !equalJson(mutated, object)) this.#object = mutated
      measure()
    } catch (error) {
      if (error instanceof PolicyError || error instanceof ApiError) measure(error.message)
      if (!(error instanceof PolicyError)) throw error
      this.#fail(bound, { binding: binding.name, message: error.message, reason: 'Invalid' })
    }
  }

  /** CEL variables for the current state of the object. */
  async #inputs(invocation: OneInvocation) {
    const request = { ...this.#request, object: this.#object }
    const namespaceObject = await namespaceObjectOf(this.#context, request)
    return admissionVariables(await inputOf(request, invocation, namespaceObject), this.#authorizer)
  }

  #fail({ name: policy, policy: { spec } }: Bound, failure: Omit<PolicyFailure, 'policy'>): void {
    if (spec?.failurePolicy !== 'Ignore') this.#errors.push({ policy, ...failure })
  }
}

/** Identifies a policy, binding and params object across passes. */
function idOf({ bound, binding, params }: OneInvocation): string {
  const { namespace = '', name: ofParams = '' } = params?.metadata ?? {}
  return [bound.name, binding.name, namespace, ofParams].join(' ')
}

interface PolicyFailure {
  readonly policy: string
  readonly binding?: string
  readonly message: string
  readonly reason?: string
}

/** The message is that of the first failure; the causes list all failures. */
function refusal(request: AdmissionAttributes, failures: readonly PolicyFailure[]): ApiError {
  const messages = failures.map(({ policy, binding, message }) => {
    if (binding === undefined) return `policy ${JSON.stringify(policy)} denied request: ${message}`
    return `policy '${policy}' with binding '${binding}' denied request: ${message}`
  })
  const { status } = admissionForbidden(
    request,
    'admission request denied by policy',
    messages.map(message => ({ message })),
  )
  const [message = ''] = messages
  const { reason = status.reason } = failures[0] ?? {}
  return new ApiError({ ...status, message, ...(reason && { reason }) })
}
