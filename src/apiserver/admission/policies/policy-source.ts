/** The policies that have bindings, sorted by name, compiled once per version of the object. */
import type { MatchResources, ParamKind, ParamRef } from '#/api/generated/admissionregistration/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import { ResourceMatcher } from '../matching/resource-matcher.ts'
import type { PluginContext } from '../plugin-context.ts'

/** Fields common to ValidatingAdmissionPolicy and MutatingAdmissionPolicy. */
export interface Policy extends KubernetesObject {
  readonly spec?: {
    readonly failurePolicy?: string
    readonly paramKind?: ParamKind
    readonly matchConstraints?: MatchResources
  }
}

export interface Binding extends KubernetesObject {
  readonly spec?: {
    readonly policyName?: string
    readonly paramRef?: ParamRef
    readonly matchResources?: MatchResources
  }
}

export interface BoundPolicy<P, B, C> {
  readonly name: string
  readonly policy: P
  readonly matcher: ResourceMatcher
  readonly compiled: C
  readonly bindings: readonly CompiledBinding<B>[]
}

export interface CompiledBinding<B> {
  readonly name: string
  readonly binding: B
  /** Undefined if the binding has no matchResources and matches whatever the policy matches. */
  readonly matcher: ResourceMatcher | undefined
}

export interface PolicySourceOptions<P extends Policy, B extends Binding, C> {
  readonly policies: Resource<P>
  readonly bindings: Resource<B>
  readonly compile: (policy: P) => C
}

type PolicySourceContext = Pick<PluginContext, 'cache' | 'scheme' | 'platform' | 'metrics'>

export class PolicySource<P extends Policy, B extends Binding, C> {
  readonly #scheme: Scheme
  readonly #policies: CachedDerivation<P, readonly Stored<P>[]>
  readonly #bindings: CachedDerivation<B, readonly Stored<B>[]>
  readonly #compile: (policy: P) => C
  /** Keyed by object identity: the cache returns the same object until the policy changes. */
  readonly #compiled = new WeakMap<P, C>()
  #made: Made<P, B, C> | undefined

  constructor(
    { cache, scheme, platform, metrics }: PolicySourceContext,
    { policies, bindings, compile }: PolicySourceOptions<P, B, C>,
  ) {
    this.#scheme = scheme
    this.#policies = new CachedDerivation(cache, policies, all => all)
    this.#bindings = new CachedDerivation(cache, bindings, all => all)
    this.#compile = policy => {
      const startedMs = platform.clock.monotonicMs()
      const compiled = compile(policy)
      const seconds = (platform.clock.monotonicMs() - startedMs) / 1_000
      metrics?.admission.policies.celCompilation.observe(seconds)
      return compiled
    }
    // With matchPolicy Equivalent, the match depends on the served versions of a resource.
    scheme.onChange(() => (this.#made = undefined))
  }

  /** Policies that have at least one binding. */
  get bound(): readonly BoundPolicy<P, B, C>[] {
    const policies = this.#policies.value
    const bindings = this.#bindings.value
    const made = this.#made
    if (made !== undefined && made.policies === policies && made.bindings === bindings) return made.bound
    const bound = this.#bind(policies, bindings)
    this.#made = { policies, bindings, bound }
    return bound
  }

  #bind(policies: readonly Stored<P>[], bindings: readonly Stored<B>[]): readonly BoundPolicy<P, B, C>[] {
    const byPolicy = Map.groupBy(bindings, ({ spec }) => spec?.policyName ?? '')
    return policies.flatMap(policy => {
      const name = policy.metadata.name
      const own = byPolicy.get(name)
      if (own === undefined) return []
      return [
        {
          name,
          policy,
          matcher: new ResourceMatcher(policy.spec?.matchConstraints ?? {}, this.#scheme),
          compiled: this.#compiledOf(policy),
          bindings: own.map(binding => this.#activate(binding)),
        },
      ]
    })
  }

  #activate(binding: Stored<B>): CompiledBinding<B> {
    const { matchResources } = binding.spec ?? {}
    return {
      name: binding.metadata.name,
      binding,
      matcher: matchResources && new ResourceMatcher(matchResources, this.#scheme),
    }
  }

  #compiledOf(policy: P): C {
    const known = this.#compiled.get(policy)
    if (known !== undefined) return known
    const compiled = this.#compile(policy)
    this.#compiled.set(policy, compiled)
    return compiled
  }
}

interface Made<P, B, C> {
  readonly policies: readonly P[]
  readonly bindings: readonly B[]
  readonly bound: readonly BoundPolicy<P, B, C>[]
}

/**
 * Policy objects are exempt, so that a policy cannot block its own repair; review resources are exempt
 * because they store nothing.
 */
export function isExemptFromPolicies(resource: Resource): boolean {
  return resource.group !== '' && resourcesBeyond.has(qualifiedResourceName(resource))
}

const resourcesBeyond: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
])
