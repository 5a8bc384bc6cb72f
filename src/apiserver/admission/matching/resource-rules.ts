/** Which kinds of writes the rules of a webhook or of a policy are about. */
import type { RuleWithOperations } from '#/api/generated/admissionregistration/v1.ts'
import type { GroupVersionKind, Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import { prefixOf } from '../../registry/store-keys.ts'
import type { AdmissionTarget } from '../admission.ts'

/** A resource in one of its versions, and the kind that is spoken there. */
export interface Spoken {
  readonly resource: Resource
  readonly subresource: string
  readonly kind: GroupVersionKind
}

export interface MatchOptions {
  readonly rules: readonly RuleWithOperations[]
  /** With Equivalent a rule about one version of a resource is about all of them. */
  readonly matchPolicy: string | undefined
  readonly scheme: Scheme
}

/** In which version the rules want to hear of such a write; undefined when they are not about it. */
export function matchRules(
  target: AdmissionTarget,
  { rules, matchPolicy, scheme }: MatchOptions,
): Spoken | undefined {
  if (rules.some(rule => matches(rule, target))) return spokenIn(target.resource, target.subresource)
  if (matchPolicy !== 'Equivalent') return undefined
  const equivalents = equivalentsOf(scheme, target)
  for (const rule of rules) {
    const found = equivalents.find(resource => matches(rule, { ...target, resource }))
    if (found) return spokenIn(found, target.subresource)
  }
  return undefined
}

/** The kind that requests for a resource, or for one of its subresources, speak of. */
export function spokenIn(resource: Resource, subresource: string): Spoken {
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
    resources.some(each => isAbout(each, resource.plural, subresource))
  )
}

function includes(items: readonly string[], wanted: string): boolean {
  return items.includes('*') || items.includes(wanted)
}

/** `pods`, `pods/status`, `pods/*`, `*`, which has no subresources, and those of all: `*` and a slash before either. */
function isAbout(rule: string, plural: string, subresource: string): boolean {
  const slash = rule.indexOf('/')
  const wantedPlural = slash === -1 ? rule : rule.slice(0, slash)
  const wantedSubresource = slash === -1 ? '' : rule.slice(slash + 1)
  return (
    (wantedPlural === '*' || wantedPlural === plural) &&
    (wantedSubresource === '*' || wantedSubresource === subresource)
  )
}

/** The other versions, and other groups, under which the same objects are served. */
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
