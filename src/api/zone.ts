/** Zones of nodes, as all see them who spread things over zones or judge zones as a whole. */
import type { KubernetesObject } from './metadata.ts'

/** Where a node is, by its labels: region and zone, either of which may be empty. */
export function zoneOf({ metadata }: KubernetesObject): string {
  const labels = metadata?.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`
}
