/** Matches writes against the rules of a webhook or policy. */
import type { RuleWithOperations } from '#/api/generated/admissionregistration/v1.ts'
import type { GroupVersionKind, Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { prefixOf } from '../../registry/store-keys.ts'
import type { AdmissionTarget } from '../admission-chain.ts'

/** A versioned resource, and the kind of the request for it. */
export interface MatchedResource {
  readonly resource: Resource
  readonly subresource: string
  readonly kind: GroupVersionKind
}

export interface MatchOptions {
  readonly rules: readonly RuleWithOperations[]
  /** With Equivalent, a rule for one version of a resource matches all versions of it. */
  readonly matchPolicy: string | undefined
  readonly scheme: Scheme
}

/**
 * The resource and version in which the webhook or policy receives the write; undefined if no rule matches.
 */
export function matchRules(
  target: AdmissionTarget,
  { rules, matchPolicy, scheme }: MatchOptions,
): MatchedResource | undefined {
  if (rules.some(rule => matches(rule, target))) return matchedResource(target.resource, target.subresource)
  if (matchPolicy !== 'Equivalent') return undefined
  const equivalents = equivalentsOf(scheme, target)
  for (const rule of rules) {
    const found = equivalents.find(resource => matches(rule, { ...target, resource }))
    if (found) return matchedResource(found, target.subresource)
  }
  return undefined
}

/** Resolves the kind of a resource or subresource; `pods/eviction` has the kind Eviction, for example. */
export function matchedResource(resource: Resource, subresource: string): MatchedResource {
  const { group, version, kind } = resource.subresources.get(subresource) ?? resource
  return { resource, subresource, kind: { group, version, kind } }
}

function matches(rule: RuleWithOperations, { operation, resource, subresource }: AdmissionTarget): boolean {
  const { scope = '*', operations = [], apiGroups = [], apiVersions = [], resources = [] } = rule
  return (
    (scope === '*' || scope === resource.scope) &&
    includes(operations, operation) &&
    includes(apiGroups, resource.group) &&
    includes(apiVersions, resource.version) &&
    resources.some(each => matchesResource(each, resource.plural, subresource))
  )
}

function includes(items: readonly string[], wanted: string): boolean {
  return items.includes('*') || items.includes(wanted)
}

/**
 * Rule resources are `pods`, `pods/status`, `pods/*` or `*` (which excludes subresources); before a slash,
 * `*` stands for every resource.
 */
function matchesResource(rule: string, plural: string, subresource: string): boolean {
  const slash = rule.indexOf('/')
  const wantedPlural = slash === -1 ? rule : rule.slice(0, slash)
  const wantedSubresource = slash === -1 ? '' : rule.slice(slash + 1)
  return (
    (wantedPlural === '*' || wantedPlural === plural) &&
    (wantedSubresource === '*' || wantedSubresource === subresource)
  )
}

/** Other group-versions that serve the same stored objects. */
function equivalentsOf(scheme: Scheme, { resource, subresource }: AdmissionTarget): readonly Resource[] {
  const prefix = prefixOf(resource, '')
  return scheme
    .resources()
    .filter(
      each =>
        each !== resource &&
        prefixOf(each, '') === prefix &&
        (subresource === '' || each.subresources.has(subresource)),
    )
}
