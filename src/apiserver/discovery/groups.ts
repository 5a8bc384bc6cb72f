/** API groups and their versions. */
import { apiVersionOf, type Resource } from '#/api/resource.ts'

export interface ApiVersions {
  readonly kind: 'APIVersions'
  readonly versions: readonly string[]
  readonly serverAddressByClientCIDRs: readonly ServerAddress[]
}

interface ServerAddress {
  readonly clientCIDR: string
  readonly serverAddress: string
}

export interface ApiGroupList {
  readonly kind: 'APIGroupList'
  readonly apiVersion: 'v1'
  readonly groups: readonly GroupFacts[]
}

export interface ApiGroup extends GroupFacts {
  readonly kind: 'APIGroup'
  readonly apiVersion: 'v1'
}

interface GroupFacts {
  readonly name: string
  readonly versions: readonly VersionFacts[]
  readonly preferredVersion: VersionFacts
}

interface VersionFacts {
  readonly groupVersion: string
  readonly version: string
}

/** Versions of the core group, with one server address for all client CIDRs. */
export function apiVersions(resources: readonly Resource[], serverAddress: string): ApiVersions {
  return {
    kind: 'APIVersions',
    versions: versionsOf(resources).get('') ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** All groups except the core group. */
export function apiGroupList(resources: readonly Resource[]): ApiGroupList {
  const groups = [...versionsOf(resources)].filter(([name]) => name !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(describeGroup) }
}

export function apiGroup(resources: readonly Resource[], name: string): ApiGroup | undefined {
  const versions = name === '' ? undefined : versionsOf(resources).get(name)
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup([name, versions]) }
}

/** Versions of each group in priority order; the first is the preferred version. */
export function versionsOf(resources: readonly Resource[]): ReadonlyMap<string, readonly string[]> {
  const versions = new Map<string, string[]>()
  for (const { group, version } of resources) {
    const known = versions.get(group)
    if (known === undefined) versions.set(group, [version])
    else if (!known.includes(version)) known.push(version)
  }
  return versions
}

function describeGroup([name, versions]: readonly [string, readonly string[]]): GroupFacts {
  const facts = versions.map(version => ({ groupVersion: apiVersionOf({ group: name, version }), version }))
  const [preferredVersion = { groupVersion: '', version: '' }] = facts
  return { name, versions: facts, preferredVersion }
}
