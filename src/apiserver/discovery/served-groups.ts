/** The groups and versions of discovery, of this server and of extension servers, in discovery order. */
import { apiVersionOf, type GroupVersion, type Resource } from '#/api/resource.ts'
import { compareVersions } from '#/api/text/version-priority.ts'
import { defaultPriority, type ApiServicePriority } from '../aggregator/priorities.ts'
import type { Freshness, ResourceDiscovery } from './aggregated.ts'

export interface ServedGroup {
  /** Empty for the core group. */
  readonly name: string
  /** The first is the preferred version. */
  readonly versions: readonly ServedVersion[]
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
  resources: readonly Resource[],
  { extensions, priorities }: AggregatedVersions,
): readonly ServedGroup[] {
  const versions = new Map<string, GroupVersion & ServedVersion & ApiServicePriority>()
  const priorityOf = (groupVersion: GroupVersion): ApiServicePriority => {
    return priorities.get(apiVersionOf(groupVersion)) ?? defaultPriority(groupVersion)
  }
  for (const [key, members] of Map.groupBy(resources, apiVersionOf)) {
    const { group, version } = members[0]!
    versions.set(key, { group, version, resources: members, ...priorityOf({ group, version }) })
  }
  for (const extension of extensions) {
    const { group, version } = extension
    const key = apiVersionOf(extension)
    versions.set(key, { group, version, resources: [], extension, ...priorityOf(extension) })
  }
  return [...Map.groupBy(versions.values(), ({ group }) => group)]
    .map(([name, members]) => ({
      name,
      priority: Math.max(...members.map(each => each.groupPriorityMinimum)),
      versions: members.toSorted((left, right) => {
        return right.versionPriority - left.versionPriority || compareVersions(left.version, right.version)
      }),
    }))
    .sort((left, right) => right.priority - left.priority || (left.name < right.name ? -1 : 1))
}
