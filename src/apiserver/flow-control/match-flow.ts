/**
 * Classifies requests: the flow schema with the lowest matchingPrecedence that has a rule for the user and
 * the request.
 */
import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '#/api/generated/flowcontrol/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { RequestInfo, ResourceRequestInfo } from '../request-info.ts'
import type { UserInfo } from '../request.ts'

/** Ties are broken by name. */
export function byPrecedence(left: Stored<FlowSchema>, right: Stored<FlowSchema>): number {
  const difference = precedenceOf(left) - precedenceOf(right)
  if (difference !== 0) return difference
  return left.metadata.name < right.metadata.name ? -1 : 1
}

function precedenceOf({ spec }: FlowSchema): number {
  return spec?.matchingPrecedence ?? defaultPrecedence
}

const defaultPrecedence = 1_000

/** The rules of a schema with a subject that matches the user; the request is not considered yet. */
export function rulesFor(
  { username, groups }: UserInfo,
  { spec }: FlowSchema,
): readonly PolicyRulesWithSubjects[] {
  return (spec?.rules ?? []).filter(rule =>
    rule.subjects.some(subject => includesUser(subject, { username, groups })),
  )
}

export function includesRequest(rules: readonly PolicyRulesWithSubjects[], info: RequestInfo): boolean {
  for (const { resourceRules = none, nonResourceRules = none } of rules) {
    if (info.isResource) {
      for (const rule of resourceRules) if (includesResource(rule, info)) return true
    } else {
      for (const rule of nonResourceRules) if (includesPath(rule, info)) return true
    }
  }
  return false
}

const none: readonly never[] = []

/** The flow distinguisher. */
export function distinguisherOf(
  spec: FlowSchemaSpec | undefined,
  { username }: UserInfo,
  info: RequestInfo,
): string {
  const method = spec?.distinguisherMethod?.type
  if (method === 'ByUser') return username
  return method === 'ByNamespace' && info.isResource ? info.namespace : ''
}

function includesUser(
  { kind, user, group, serviceAccount }: Subject,
  { username, groups }: UserInfo,
): boolean {
  if (kind === 'User') return user?.name === '*' || user?.name === username
  if (kind === 'Group') return group?.name === '*' || groups.includes(group?.name ?? '')
  if (kind !== 'ServiceAccount' || !serviceAccount) return false
  const prefix = `system:serviceaccount:${serviceAccount.namespace}:`
  return serviceAccount.name === '*' ? username.startsWith(prefix) : username === prefix + serviceAccount.name
}

function includesResource(rule: ResourcePolicyRule, info: ResourceRequestInfo): boolean {
  const { resource, subresource, namespace } = info
  return (
    includes(rule.verbs, info.verb) &&
    includes(rule.resources, subresource === '' ? resource : `${resource}/${subresource}`) &&
    includes(rule.apiGroups, info.group) &&
    (namespace === '' ? rule.clusterScope === true : includes(rule.namespaces, namespace))
  )
}

function includesPath(
  { verbs, nonResourceURLs: urls }: NonResourcePolicyRule,
  { verb, path }: RequestInfo,
): boolean {
  return (
    includes(verbs, verb) &&
    urls.some(url => {
      if (url === '*' || url === path) return true
      const prefix = url.endsWith('*') ? url.slice(0, -1) : url
      return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
    })
  )
}

function includes(names: readonly string[] | undefined, name: string): boolean {
  return names !== undefined && (names[0] === '*' || names.includes(name))
}
