import { conditionOf } from '#/api/conditions.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { labelOf } from '#/api/labels.ts'
import { quantityMilliValue, tryParseQuantity } from '#/api/text/quantity.ts'

/** Each zone's fraction of all nodes' allocatable CPUs. */
export type ZoneShares = ReadonlyMap<string, number>

/**
 * Undefined if a node lacks its zone or allocatable CPU, or if there are fewer than two zones. Control plane
 * nodes and nodes that are not ready are ignored.
 */
export function zoneShares(nodes: readonly Node[]): ZoneShares | undefined {
  const milliByZone = new Map<string, number>()
  let total = 0
  for (const node of nodes.filter(isCounted)) {
    const zone = zoneKeyOf(node)
    const milli = milliCpus(node)
    if (zone === undefined || milli === 0) return undefined
    milliByZone.set(zone, (milliByZone.get(zone) ?? 0) + milli)
    total += milli
  }
  if (milliByZone.size < 2) return undefined
  return new Map([...milliByZone].map(([zone, milli]) => [zone, milli / total]))
}

export function zoneKeyOf({ metadata }: Node): string | undefined {
  return labelOf(metadata.labels, 'topology.kubernetes.io/zone') || undefined
}

/** True if the change of a node does not affect the shares. */
export function isSameShare(before: Node, after: Node): boolean {
  return (
    zoneKeyOf(before) === zoneKeyOf(after) &&
    isCounted(before) === isCounted(after) &&
    before.status?.allocatable?.['cpu'] === after.status?.allocatable?.['cpu']
  )
}

const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']

function isCounted({ metadata, status }: Node): boolean {
  const isControlPlane = controlPlaneLabels.some(name => labelOf(metadata.labels, name) !== undefined)
  return !isControlPlane && conditionOf(status?.conditions, 'Ready')?.status === 'True'
}

function milliCpus({ status }: Node): number {
  const cpu = tryParseQuantity(status?.allocatable?.['cpu'] ?? '0')
  return cpu === undefined ? 0 : Number(quantityMilliValue(cpu))
}
