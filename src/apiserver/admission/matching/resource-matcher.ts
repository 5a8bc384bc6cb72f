/** Matches writes against the matchConstraints of a policy or the matchResources of a binding. */
import type { MatchResources, NamedRuleWithOperations } from '#/api/generated/admissionregistration/v1.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { compileLabelSelector, type Selector } from '#/api/selectors/selector.ts'
import type { Registry } from '../../registry/registry.ts'
import type { AdmissionTarget, AdmissionAttributes } from '../admission-chain.ts'
import { matchRules, matchedResource, type MatchedResource } from './resource-rules.ts'
import { selectsNamespace, selectsObject } from './selectors.ts'

export class ResourceMatcher {
  readonly #match: MatchResources
  readonly #scheme: Scheme
  readonly #objects: Selector
  readonly #namespaces: Selector
  /**
   * True if a rule has resourceNames; the match then depends on the object's name and is not cached per
   * target.
   */
  readonly #hasNames: boolean
  readonly #matched = new AttributesMemo<MatchedResource | undefined>(target =>
    this.#find({ ...target, name: '' }),
  )

  constructor(match: MatchResources, scheme: Scheme) {
    const { resourceRules = [], excludeResourceRules = [], objectSelector, namespaceSelector } = match
    this.#match = match
    this.#scheme = scheme
    this.#objects = compileLabelSelector(objectSelector ?? {})
    this.#namespaces = compileLabelSelector(namespaceSelector ?? {})
    this.#hasNames = [...resourceRules, ...excludeResourceRules].some(rule => rule.resourceNames?.length)
  }

  /**
   * The resource and version in which the policy receives the write; undefined if the rules or the
   * objectSelector do not match.
   */
  match(request: AdmissionAttributes): MatchedResource | undefined {
    const matched = this.#hasNames ? this.#find(request) : this.#matched.get(request)
    return matched && selectsObject(this.#objects, request) ? matched : undefined
  }

  /** Evaluates the namespaceSelector. Throws ApiError 404 if the namespace does not exist. */
  selectsNamespace(
    objects: Pick<Registry, 'cache' | 'store'>,
    request: AdmissionAttributes,
  ): boolean | Promise<boolean> {
    return this.#namespaces.isEmpty || selectsNamespace(objects, this.#namespaces, request)
  }

  #find(target: Target): MatchedResource | undefined {
    const { resourceRules = [], excludeResourceRules = [] } = this.#match
    if (this.#matchRules(target, excludeResourceRules)) return undefined
    if (resourceRules.length === 0) return matchedResource(target.resource, target.subresource)
    return this.#matchRules(target, resourceRules)
  }

  #matchRules(target: Target, rules: readonly NamedRuleWithOperations[]): MatchedResource | undefined {
    const named = rules.filter(({ resourceNames = [] }) => {
      return resourceNames.length === 0 || resourceNames.includes(target.name)
    })
    return matchRules(target, {
      rules: named,
      matchPolicy: this.#match.matchPolicy,
      scheme: this.#scheme,
    })
  }
}

type Target = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource' | 'name'>

/** Caches a value that depends only on resource, operation and subresource. */
class AttributesMemo<V> {
  readonly #find: (attributes: AdmissionTarget) => V
  readonly #known = new WeakMap<Resource, Map<string, { readonly value: V }>>()

  constructor(find: (attributes: AdmissionTarget) => V) {
    this.#find = find
  }

  get(attributes: AdmissionTarget): V {
    const { resource, operation, subresource } = attributes
    let ofResource = this.#known.get(resource)
    if (ofResource === undefined) this.#known.set(resource, (ofResource = new Map()))
    const key = subresource === '' ? operation : `${operation}/${subresource}`
    let known = ofResource.get(key)
    if (known === undefined) ofResource.set(key, (known = { value: this.#find(attributes) }))
    return known.value
  }
}
