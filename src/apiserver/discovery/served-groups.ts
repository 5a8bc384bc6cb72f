/** The groups and versions of discovery, of this server and of extension servers, in discovery order. */
import { apiVersionOf, type GroupVersion, type Resource } from '#/api/resource.ts'
import type { SchemeGroup } from '#/api/scheme.ts'
import { compareVersions } from '#/api/text/version-priority.ts'
import { defaultPriority, type ApiServicePriority } from '../aggregator/priorities.ts'
import type { Freshness, ResourceDiscovery } from './aggregated.ts'

/** The same object until the group or the aggregated versions change. */
export interface ServedGroup {
  /** Empty for the core group. */
  readonly name: string
  /** The first is the preferred version. */
  readonly versions: readonly ServedVersion[]
  /** Groups with a higher one come first. */
  readonly priority: number
}

export interface ServedVersion {
  readonly version: string
  /** Of this server; empty if an extension server serves the version. */
  readonly resources: readonly Resource[]
  readonly extension?: ExtensionVersion
}

/** A group version that an extension server serves. */
export interface ExtensionVersion extends GroupVersion {
  readonly resources: readonly ResourceDiscovery[]
  readonly freshness: Freshness
}

/** The part of discovery that APIServices determine. A new object after each change. */
export interface AggregatedVersions {
  readonly extensions: readonly ExtensionVersion[]
  /** Priorities of APIServices, by group and version as in `apiVersion`. */
  readonly priorities: ReadonlyMap<string, ApiServicePriority>
}

export const noAggregatedVersions: AggregatedVersions = { extensions: [], priorities: new Map() }

/** An extension server takes precedence over resources of this server. */
export function servedGroups(
  groups: readonly SchemeGroup[],
  aggregated: AggregatedVersions,
): readonly ServedGroup[] {
  const known = knownGroups.getOrInsertComputed(aggregated, () => new WeakMap())
  const extensions = Map.groupBy(aggregated.extensions, ({ group }) => group)
  const own = groups.map(group =>
    known.getOrInsertComputed(group, () =>
      servedGroup(group, extensions.get(group.name) ?? [], aggregated.priorities),
    ),
  )
  for (const { name } of groups) extensions.delete(name)
  const others = Array.from(extensions, ([name, members]) =>
    servedGroup({ name, versions: [] }, members, aggregated.priorities),
  )
  return [...own, ...others].sort(
    (left, right) => right.priority - left.priority || (left.name < right.name ? -1 : 1),
  )
}

/** Most changes of the scheme affect a single group. */
const knownGroups = new WeakMap<AggregatedVersions, WeakMap<SchemeGroup, ServedGroup>>()

function servedGroup(
  { name, versions }: SchemeGroup,
  extensions: readonly ExtensionVersion[],
  priorities: AggregatedVersions['priorities'],
): ServedGroup {
  const members: readonly (GroupVersion & ServedVersion)[] = [
    ...versions.filter(own => !extensions.some(({ version }) => version === own.version)),
    ...extensions.map(extension => ({
      group: name,
      version: extension.version,
      resources: [],
      extension,
    })),
  ]
  const prioritized = members.map(member => ({
    ...member,
    ...(priorities.get(apiVersionOf(member)) ?? defaultPriority(member)),
  }))
  return {
    name,
    versions: prioritized.sort((left, right) => {
      return right.versionPriority - left.versionPriority || compareVersions(left.version, right.version)
    }),
    priority: Math.max(...prioritized.map(each => each.groupPriorityMinimum)),
  }
}
