/** API groups and their versions. */
import { apiVersionOf } from '#/api/resource.ts'
import type { ServedGroup } from './served-groups.ts'

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
export function apiVersions(groups: readonly ServedGroup[], serverAddress: string): ApiVersions {
  const core = groups.find(({ name }) => name === '')
  return {
    kind: 'APIVersions',
    versions: (core?.versions ?? []).map(({ version }) => version),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** All groups except the core group. */
export function apiGroupList(groups: readonly ServedGroup[]): ApiGroupList {
  const named = groups.filter(({ name }) => name !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(describeGroup) }
}

export function apiGroup(groups: readonly ServedGroup[], name: string): ApiGroup | undefined {
  const found = name === '' ? undefined : groups.find(each => each.name === name)
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(found) }
}

function describeGroup({ name, versions }: ServedGroup): GroupFacts {
  const facts = versions.map(({ version }) => ({
    groupVersion: apiVersionOf({ group: name, version }),
    version,
  }))
  const [preferredVersion = { groupVersion: '', version: '' }] = facts
  return { name, versions: facts, preferredVersion }
}
