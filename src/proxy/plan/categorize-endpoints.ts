import type { ServiceEndpoint, ProxiedNode } from '../plan.ts'
import { endpointOf, type KnownEndpoint } from './read-endpoints.ts'

export interface CategorizedEndpoints {
  readonly cluster: readonly ServiceEndpoint[]
  readonly local: readonly ServiceEndpoint[]
  /** True if any endpoint on any node is usable. */
  readonly hasAny: boolean
}

export interface TrafficPolicies extends ProxiedNode {
  readonly usesCluster: boolean
  readonly usesLocal: boolean
}

/**
 * Uses ready endpoints; if there are none, those that are terminating but still serving. Both traffic
 * policies are evaluated independently.
 */
export function categorizeEndpoints(
  endpoints: readonly KnownEndpoint[],
  use: TrafficPolicies,
): CategorizedEndpoints {
  const ready = endpoints.filter(({ isReady }) => isReady)
  const leaving = endpoints.filter(each => !each.isReady && each.isServing && each.isTerminating)
  const nearby = ready.filter(isPreferred(ready, use))
  const cluster = nearby.length > 0 ? nearby : leaving
  const localReady = ready.filter(({ isLocal }) => isLocal)
  const local = localReady.length > 0 ? localReady : leaving.filter(({ isLocal }) => isLocal)
  return {
    cluster: use.usesCluster ? cluster.map(endpointOf) : [],
    local: use.usesLocal ? local.map(endpointOf) : [],
    hasAny: ready.length > 0 || leaving.length > 0,
  }
}

/**
 * Topology hints are used only when all ready endpoints have them and at least one matches; otherwise
 * endpoints would get no traffic.
 */
function isPreferred(
  ready: readonly KnownEndpoint[],
  { name, zone }: TrafficPolicies,
): (endpoint: KnownEndpoint) => boolean {
  const hasNodeHints = ready.every(({ nodeHints }) => nodeHints.length > 0)
  if (hasNodeHints && ready.some(({ nodeHints }) => nodeHints.includes(name))) {
    return ({ nodeHints }) => nodeHints.includes(name)
  }
  const hasZoneHints = ready.every(({ zoneHints }) => zoneHints.length > 0)
  if (hasZoneHints && ready.some(({ zoneHints }) => zoneHints.includes(zone))) {
    return ({ zoneHints }) => zoneHints.includes(zone)
  }
  return () => true
}
