import type { Node } from '#/api/generated/core/v1.ts'
import type { NodeInfo } from '../node-info.ts'

export const zoneOrder = { zoneOf, order }

function zoneOf({ metadata }: Node): string {
  const labels = metadata?.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`
}

/** One node of each zone after the other, until all zones are through. */
function order(infos: readonly NodeInfo[]): NodeInfo[] {
  const zones = Map.groupBy(infos, info => zoneOf(info.node))
  if (zones.size <= 1) return [...infos]
  const ordered: NodeInfo[] = []
  for (let round = 0; ordered.length < infos.length; round++) {
    for (const zone of zones.values()) {
      const info = zone[round]
      if (info !== undefined) ordered.push(info)
    }
  }
  return ordered
}
