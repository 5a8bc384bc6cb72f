/** Compiles an audit policy: the first matching rule determines the audit level. */
import type { RequestInfo, ResourceRequestInfo } from '../request-info.ts'
import type { UserInfo } from '../request.ts'
import type { AuditLevel, AuditPolicy, AuditStage, GroupResources, PolicyRule } from './policy.ts'

export interface AuditDecision {
  readonly level: AuditLevel
  readonly omitStages: ReadonlySet<AuditStage>
  readonly omitManagedFields: boolean
}

export type EvaluatePolicy = (user: UserInfo, info: RequestInfo) => AuditDecision

export function compilePolicy({
  rules = [],
  omitStages = [],
  omitManagedFields = false,
}: AuditPolicy): EvaluatePolicy {
  const compiled = rules.map(rule => ({
    rule,
    users: rule.users?.length ? new Set(rule.users) : undefined,
    groups: rule.userGroups?.length ? new Set(rule.userGroups) : undefined,
    verbs: rule.verbs?.length ? new Set(rule.verbs) : undefined,
    decision: {
      level: rule.level,
      omitStages: new Set([...omitStages, ...(rule.omitStages ?? [])]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }))
  return (user, info) => {
    for (const { rule, users, groups, verbs, decision } of compiled) {
      if (users && !users.has(user.username)) continue
      if (groups && !user.groups.some(group => groups.has(group))) continue
      if (verbs && !verbs.has(info.verb)) continue
      if (isAbout(rule, info)) return withoutSecretBodies(decision, rule, info)
    }
    return nothing
  }
}

const nothing: AuditDecision = { level: 'None', omitStages: new Set(), omitManagedFields: false }

/**
 * Request and response bodies that can contain secrets are recorded only if a rule names the resource; a
 * wildcard rule is reduced to Metadata.
 */
function withoutSecretBodies(decision: AuditDecision, rule: PolicyRule, info: RequestInfo): AuditDecision {
  if (decision.level === 'None' || decision.level === 'Metadata' || !holdsSecrets(info)) return decision
  const { group, resource, subresource } = info
  const name = subresource === '' ? resource : `${resource}/${subresource}`
  const isNamed = rule.resources?.some(each => (each.group ?? '') === group && each.resources?.includes(name))
  return isNamed ? decision : { ...decision, level: 'Metadata' }
}

function holdsSecrets(info: RequestInfo): info is ResourceRequestInfo {
  if (!info.isResource) return false
  const { group, resource, subresource } = info
  if (group === 'authentication.k8s.io') return resource === 'tokenreviews'
  if (group !== '') return false
  return (
    resource === 'secrets' ||
    resource === 'configmaps' ||
    (resource === 'serviceaccounts' && subresource === 'token')
  )
}

function isAbout(rule: PolicyRule, info: RequestInfo): boolean {
  const { resources = [], namespaces = [], nonResourceURLs: urls = [] } = rule
  if (resources.length > 0 || namespaces.length > 0) {
    if (!info.isResource || (namespaces.length > 0 && !namespaces.includes(info.namespace))) return false
    return resources.length === 0 || resources.some(each => includesResource(each, info))
  }
  if (urls.length === 0) return true
  return !info.isResource && urls.some(url => includesPath(url, info.path))
}

function includesPath(url: string, path: string): boolean {
  return url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)))
}

function includesResource(
  { group = '', resources = [], resourceNames = [] }: GroupResources,
  info: ResourceRequestInfo,
): boolean {
  if (group !== '*' && group !== info.group) return false
  if (resources.length === 0) return true
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false
  const { resource, subresource } = info
  const name = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some(
    each =>
      each === '*' ||
      each === name ||
      each === `${resource}/*` ||
      (subresource !== '' && each === `*/${subresource}`),
  )
}
