import { zoneKeyOf } from '#/api/zone.ts'
import type { NodeInfo } from '../node-info.ts'

/** Orders nodes round-robin over the zones. */
export function inZoneOrder(infos: readonly NodeInfo[]): NodeInfo[] {
  const zones = Map.groupBy(infos, info => zoneKeyOf(info.node))
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
