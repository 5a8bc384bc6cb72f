import type { JsonObject } from '#/api/text/json-object.ts'
import { UsageError } from '#/base/flags.ts'
import { defineCommand } from '../../command.ts'
import { sortedMap, type ObjectContent } from '../../create/generated-object.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'
import {
  givenRules,
  planRules,
  resolveResources,
  ruleFlags,
  warnOfVerbs,
  type GivenRules,
} from '../../create/role-rules.ts'
import { stringFlag, stringSliceFlag, type KubectlFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage:
    'clusterrole NAME --verb=verb --resource=resource.group [--resource-name=resourcename] ' +
    '[--dry-run=server|client|none]',
  description: 'Creates a cluster role with one rule for each API group and one for URLs.',
  examples: `  # A cluster role that may read pods
  kubectl create clusterrole pod-reader --verb=get,list,watch --resource=pods

  # A cluster role that may read single pods
  kubectl create clusterrole pod-reader --verb=get --resource=pods --resource-name=web-0

  # A resource of an API group, and a subresource
  kubectl create clusterrole deployer --verb=get,list,watch --resource=deployments.apps,pods/status

  # URLs that are not those of resources
  kubectl create clusterrole log-reader --verb=get --non-resource-url='/logs/*'

  # The rules of all cluster roles with a label
  kubectl create clusterrole monitoring --aggregation-rule="rbac.example.com/aggregate-to-monitoring=true"`,
  flags: {
    ...createFlags,
    ...ruleFlags,
    'aggregation-rule': {
      ...labelsFlag('Labels of the cluster roles whose rules this cluster role contains.'),
      shownDefault: '',
    },
    'non-resource-url': stringSliceFlag('URLs that the rule applies to. "*" at the end matches any text.'),
  },
  async run(invocation) {
    const { factory, flags, streams } = invocation
    const given = givenRules(flags)
    const urls = [...new Set(flags['non-resource-url'])]
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { 'aggregation-rule': labels = {} } = flags
    const isAggregated = Object.keys(labels).length > 0
    validate({ given, urls, isAggregated })
    if (given.resources.length > 0) warnOfVerbs(given.verbs, streams)
    const resources = isAggregated ? [] : await resolveResources(factory, given)
    validateUrls(urls, given.verbs)
    const content: Partial<ObjectContent> = isAggregated
      ? { rules: null, aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] } }
      : { rules: [...planRules(given, resources), ...urlRules(urls, given.verbs)] }
    await creator.create({
      resource: {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        kind: 'ClusterRole',
        plural: 'clusterroles',
        scope: 'Cluster',
      },
      content,
    })
  },
})

/** Comma-separated pairs; may be repeated. */
function labelsFlag(help: string): KubectlFlag<Record<string, string>> {
  const read = (texts: readonly string[]): Record<string, string> => {
    const pairs = texts.flatMap(text => text.split(',')).filter(pair => pair !== '')
    const entries = pairs.map(pair => {
      const equals = pair.indexOf('=')
      if (equals === -1) throw new UsageError('malformed pair, expect string=string')
      return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()] as const
    })
    return sortedMap(Object.fromEntries(entries))
  }
  return { ...stringFlag(help), value: 'mapStringString', read }
}

interface GivenClusterRole {
  readonly given: GivenRules
  readonly urls: readonly string[]
  readonly isAggregated: boolean
}

function validate({
  given: { verbs, resources, resourceNames },
  urls,
  isAggregated,
}: GivenClusterRole): void {
  if (isAggregated) {
    if ([urls, verbs, resources, resourceNames].some(({ length }) => length > 0)) {
      throw new Error(
        'aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames',
      )
    }
    return
  }
  if (verbs.length === 0) throw new Error('at least one verb must be specified')
  if (resources.length === 0 && urls.length === 0) {
    throw new Error('one of resource or nonResourceURL must be specified')
  }
}

const urlVerbs: ReadonlySet<string> = new Set([
  '*',
  'get',
  'post',
  'put',
  'delete',
  'patch',
  'head',
  'options',
])

function validateUrls(urls: readonly string[], verbs: readonly string[]): void {
  if (urls.length === 0) return
  const unknown = verbs.find(verb => !urlVerbs.has(verb))
  if (unknown !== undefined) throw new Error(`invalid verb: '${unknown}' for nonResourceURL`)
  for (const url of urls.filter(each => each !== '*')) {
    if (!url.startsWith('/')) throw new Error('nonResourceURL should start with /')
    if (url.slice(0, -1).includes('*')) {
      throw new Error("nonResourceURL only supports wildcard matches when '*' is at the end")
    }
  }
}

function urlRules(urls: readonly string[], verbs: readonly string[]): JsonObject[] {
  return urls.length === 0 ? [] : [{ verbs: [...verbs], nonResourceURLs: [...urls] }]
}
