/** Topology zones of nodes. */
import type { KubernetesObject } from '../metadata.ts'

/** Region and zone from the node's labels; either may be empty. */
export function zoneKeyOf({ metadata }: KubernetesObject): string {
  const labels = metadata.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`
}
