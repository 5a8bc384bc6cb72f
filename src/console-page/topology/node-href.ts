import { hrefOf } from '../router/router.ts'
import type { TopologyNode } from './plan-topology.ts'

/** A group leads to the list of pods, filtered by the name of their owner. */
export function hrefOfNode({ resource, namespace, name, count }: TopologyNode): string {
  if (count === undefined) return hrefOf([resource, namespace || '-', name])
  return hrefOf(['pods'], { namespace, filter: name })
}
