import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import { NoResourceMatchError } from '../discovery/rest-mapper.ts'
import { ExitError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { stringArrayFlag, stringSliceFlag } from '../flag-types.ts'

export const ruleFlags = {
  'resource': stringSliceFlag('Resources that the rule applies to: RESOURCE[.GROUP][/SUBRESOURCE].'),
  'resource-name': stringArrayFlag('Name of an object that the rule is limited to; may be repeated.'),
  'verb': stringSliceFlag('Verbs that the rule allows.'),
}

export interface GivenRules {
  /** Without duplicates, or only `*`. */
  readonly verbs: readonly string[]
  readonly resources: readonly GivenResource[]
  readonly resourceNames: readonly string[]
}

interface GivenResource {
  readonly resource: string
  readonly group: string
  readonly subresource: string
}

interface RuleFlagValues {
  readonly 'resource'?: readonly string[]
  readonly 'resource-name'?: readonly string[]
  readonly 'verb'?: readonly string[]
}

export function givenRules({
  resource = [],
  verb = [],
  'resource-name': names = [],
}: RuleFlagValues): GivenRules {
  const all = resource.includes('*')
  return {
    verbs: verb.includes('*') ? ['*'] : [...new Set(verb)],
    resources: (all ? ['*'] : resource).map(parseResource),
    resourceNames: [...new Set(names)],
  }
}

/** `deployments.apps/scale`. */
function parseResource(text: string): GivenResource {
  const [, head = '', , subresource = ''] = /^([^/]*)(\/([^]*))?$/.exec(text) ?? []
  const [, resource = head, , group = ''] = /^([^.]*)(\.([^]*))?$/.exec(head) ?? []
  return { resource, group, subresource }
}

const resourceVerbs: ReadonlySet<string> = new Set([
  '*',
  'get',
  'delete',
  'list',
  'create',
  'update',
  'patch',
  'watch',
  'proxy',
  'deletecollection',
  'use',
  'bind',
  'escalate',
  'impersonate',
])

export function warnOfVerbs(verbs: readonly string[], { stderr }: IOStreams): void {
  for (const verb of verbs) {
    if (!resourceVerbs.has(verb)) stderr.write(`Warning: '${verb}' is not a standard resource verb\n`)
  }
}

const rbacResources = ['roles.rbac.authorization.k8s.io', 'clusterroles.rbac.authorization.k8s.io']

/** The resources that verbs without requests apply to, which need not exist at the server. */
const specialVerbs = new Map<string, readonly string[]>([
  ['use', ['podsecuritypolicies.policy', 'podsecuritypolicies.extensions']],
  ['bind', rbacResources],
  ['escalate', rbacResources],
  ['impersonate', ['users.', 'serviceaccounts.', 'groups.', 'userextras.authentication.k8s.io']],
])

/**
 * The plural names and groups of the resources. Throws Error for a resource that the server does not have, and for
 * a verb that does not apply to it. Resources after `*` are not checked.
 */
export async function resolveResources(
  factory: Factory,
  { verbs, resources }: GivenRules,
): Promise<readonly GivenResource[]> {
  const resolved: GivenResource[] = []
  let isChecked = true
  for (const given of resources) {
    if (isChecked && given.resource === '') {
      throw new Error('resource must be specified if apiGroup/subresource specified')
    }
    isChecked &&= given.resource !== '*'
    const found = given.resource === '*' ? undefined : await lookUp(factory, given)
    const resource = found ?? given
    if (isChecked && !checkSpecialVerbs(verbs, resource) && found === undefined)
      throw missingResource(factory, given)
    resolved.push(resource)
  }
  return resolved
}

async function lookUp(factory: Factory, given: GivenResource): Promise<GivenResource | undefined> {
  const { resource, group, subresource } = given
  const mapper = await factory.restMapper()
  try {
    const mapping = await mapper.resourceFor(group === '' ? resource : `${resource}.${group}`)
    return { resource: mapping.plural, group: mapping.group, subresource }
  } catch (error) {
    if (error instanceof NoResourceMatchError) return undefined
    throw error
  }
}

/** True if one of the verbs is for this resource. Throws Error if a verb is for others only. */
function checkSpecialVerbs(verbs: readonly string[], { resource, group }: GivenResource): boolean {
  let isSpecial = false
  for (const verb of verbs) {
    const allowed = specialVerbs.get(verb)
    if (allowed === undefined) continue
    if (!allowed.includes(`${resource}.${group}`)) {
      throw new Error(`can not perform '${verb}' on '${resource}' in group '${group}'`)
    }
    isSpecial = true
  }
  return isSpecial
}

function missingResource({ machine }: Factory, { resource, group }: GivenResource): Error {
  const place = group === '' ? '' : ` in group ${quote(group)}`
  machine.streams.stderr.write(`the server doesn't have a resource type ${quote(resource)}${place}\n`)
  return new ExitError(1)
}

/** One rule for each group, sorted by group. */
export function planRules(
  { verbs, resourceNames }: GivenRules,
  resources: readonly GivenResource[],
): JsonObject[] {
  const byGroup = new Map<string, Set<string>>()
  for (const { resource, group, subresource } of resources) {
    const name = subresource === '' ? resource : `${resource}/${subresource}`
    byGroup.getOrInsertComputed(group, () => new Set()).add(name)
  }
  const groups = [...byGroup].sort(([a], [b]) => (a < b ? -1 : 1))
  return groups.map(([group, names]) => ({
    verbs: [...verbs],
    apiGroups: [group],
    resources: [...names],
    ...(resourceNames.length > 0 && { resourceNames: [...resourceNames] }),
  }))
}
