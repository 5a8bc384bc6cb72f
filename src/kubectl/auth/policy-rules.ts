import type { PolicyRule } from '#/api/generated/rbac/v1.ts'

/** The rule as rules for one verb on one resource, one name or one URL each. */
export function breakdownRule(rule: PolicyRule): readonly PolicyRule[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const onResources = apiGroups.flatMap(group =>
    resources.flatMap(resource =>
      verbs.flatMap((verb): readonly PolicyRule[] => {
        const one = { apiGroups: [group], resources: [resource], verbs: [verb] }
        return resourceNames.length === 0
          ? [one]
          : resourceNames.map(name => ({ ...one, resourceNames: [name] }))
      }),
    ),
  )
  const onUrls = nonResourceURLs.flatMap(url =>
    verbs.map(verb => ({ nonResourceURLs: [url], verbs: [verb] })),
  )
  return [...onResources, ...onUrls]
}

/** What the `wanted` rules allow and the `granted` ones do not, broken down. */
export function uncoveredRules({
  wanted,
  granted,
}: {
  readonly wanted: readonly PolicyRule[]
  readonly granted: readonly PolicyRule[]
}): readonly PolicyRule[] {
  return wanted.flatMap(breakdownRule).filter(rule => !granted.some(each => covers(each, rule)))
}

/** The second rule is broken down. */
function covers(wide: PolicyRule, narrow: PolicyRule): boolean {
  const { resourceNames = [] } = wide
  return (
    hasAll(wide.verbs, narrow.verbs) &&
    hasAll(wide.apiGroups, narrow.apiGroups) &&
    (narrow.resources ?? []).every(resource => hasResource(wide.resources ?? [], resource)) &&
    (narrow.nonResourceURLs ?? []).every(url =>
      (wide.nonResourceURLs ?? []).some(each => coversUrl(each, url)),
    ) &&
    (resourceNames.length === 0 ||
      (narrow.resourceNames?.length
        ? narrow.resourceNames.every(name => resourceNames.includes(name))
        : false))
  )
}

function hasAll(wide: readonly string[] = [], narrow: readonly string[] = []): boolean {
  return wide.includes('*') || narrow.every(each => wide.includes(each))
}

// A rule can name a subresource of all resources, with a star for the resource.
function hasResource(resources: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/')
  return (
    resources.includes('*') ||
    resources.includes(resource) ||
    (slash !== -1 && resources.includes(`*${resource.slice(slash)}`))
  )
}

function coversUrl(wide: string, narrow: string): boolean {
  return wide === narrow || (wide.endsWith('*') && narrow.startsWith(wide.replace(/\*+$/, '')))
}

/** Broken down rules, with the verbs on the same resource and name joined; sorted as kubectl prints them. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const joined = new Map<string, PolicyRule>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs?.length) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const { verbs = [] } = joined.get(key) ?? {}
    joined.set(key, { ...rule, verbs: [...new Set([...verbs, ...rule.verbs])] })
  }
  return [...others, ...joined.values()]
    .map(rule => ({ rule, text: ruleText(rule) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ rule }) => rule)
}

/** `{Verbs:[get] APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}`. */
export function ruleText({
  verbs,
  apiGroups,
  resources,
  resourceNames,
  nonResourceURLs,
}: PolicyRule): string {
  const lists = { Verbs: verbs, APIGroups: apiGroups, Resources: resources, ResourceNames: resourceNames }
  const fields = Object.entries({ ...lists, NonResourceURLs: nonResourceURLs })
  return `{${fields.map(([name, values = []]) => `${name}:${listText(values)}`).join(' ')}}`
}

/** `[get list]`. */
export function listText(values: readonly string[] = []): string {
  return `[${values.join(' ')}]`
}
