/** Which writes a policy, or a binding of one, is about. */
import type { MatchResources, NamedRuleWithOperations } from '#/api/generated/admissionregistration/v1.ts'
import type { Scheme } from '#/api/scheme.ts'
import { compileLabelSelector, type Selector } from '#/api/selector.ts'
import type { Registry } from '../../registry/registry.ts'
import type { AdmissionRequest } from '../admission.ts'
import { TargetMemo } from '../target-memo.ts'
import { matchRules, spokenIn, type Spoken } from './resource-rules.ts'
import { selectsNamespace, selectsObject } from './selectors.ts'

export class ResourceMatcher {
  readonly #match: MatchResources
  readonly #scheme: Scheme
  readonly #objects: Selector
  readonly #namespaces: Selector
  /** Rules that are about certain names must be looked at for each write. */
  readonly #hasNames: boolean
  readonly #spoken = new TargetMemo<Spoken | undefined>(target => this.#find({ ...target, name: '' }))

  constructor(match: MatchResources, scheme: Scheme) {
    const { resourceRules = [], excludeResourceRules = [], objectSelector, namespaceSelector } = match
    this.#match = match
    this.#scheme = scheme
    this.#objects = compileLabelSelector(objectSelector ?? {})
    this.#namespaces = compileLabelSelector(namespaceSelector ?? {})
    this.#hasNames = [...resourceRules, ...excludeResourceRules].some(rule => rule.resourceNames?.length)
  }

  /** The version in which a policy wants to hear of the write; undefined when it is about other kinds or objects. */
  spoken(request: AdmissionRequest): Spoken | undefined {
    const spoken = this.#hasNames ? this.#find(request) : this.#spoken.get(request)
    return spoken && selectsObject(this.#objects, request) ? spoken : undefined
  }

  /** Whether the namespace of the write is selected. Throws ApiError 404 when it is gone. */
  selectsNamespace(
    objects: Pick<Registry, 'cache' | 'store'>,
    request: AdmissionRequest,
  ): boolean | Promise<boolean> {
    return this.#namespaces.isEmpty || selectsNamespace(objects, this.#namespaces, request)
  }

  #find(target: Target): Spoken | undefined {
    const { resourceRules = [], excludeResourceRules = [] } = this.#match
    if (this.#matchRules(target, excludeResourceRules)) return undefined
    if (resourceRules.length === 0) return spokenIn(target.resource, target.subresource)
    return this.#matchRules(target, resourceRules)
  }

  #matchRules(target: Target, rules: readonly NamedRuleWithOperations[]): Spoken | undefined {
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

type Target = Pick<AdmissionRequest, 'operation' | 'resource' | 'subresource' | 'name'>
