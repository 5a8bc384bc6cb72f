import { conditionOf } from '#/api/conditions.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { labelOf } from '#/api/labels.ts'
import { quantityMilliValue, tryParseQuantity } from '#/api/quantity.ts'

/** How much of the CPUs of all nodes each zone has. */
export type ZoneShares = ReadonlyMap<string, number>

/**
 * Undefined when hints by zone cannot be given: something is not known of a node, or there are fewer than two zones.
 * Control plane nodes and those that are not ready do not count.
 */
export function zoneShares(nodes: readonly Node[]): ZoneShares | undefined {
  const milliByZone = new Map<string, number>()
  let total = 0
  for (const node of nodes.filter(isCounted)) {
    const zone = zoneOf(node)
    const milli = milliCpus(node)
    if (zone === undefined || milli === 0) return undefined
    milliByZone.set(zone, (milliByZone.get(zone) ?? 0) + milli)
    total += milli
  }
  if (milliByZone.size < 2) return undefined
  return new Map([...milliByZone].map(([zone, milli]) => [zone, milli / total]))
}

export function zoneOf({ metadata }: Node): string | undefined {
  return labelOf(metadata?.labels, 'topology.kubernetes.io/zone') || undefined
}

/** Whether the shares are the same with one as with the other. */
export function isSameShare(before: Node, after: Node): boolean {
  return (
    zoneOf(before) === zoneOf(after) &&
    isCounted(before) === isCounted(after) &&
    before.status?.allocatable?.['cpu'] === after.status?.allocatable?.['cpu']
  )
}

const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']

function isCounted({ metadata, status }: Node): boolean {
  const isControlPlane = controlPlaneLabels.some(name => labelOf(metadata?.labels, name) !== undefined)
  return !isControlPlane && conditionOf(status?.conditions, 'Ready')?.status === 'True'
}

function milliCpus({ status }: Node): number {
  const cpu = tryParseQuantity(status?.allocatable?.['cpu'] ?? '0')
  return cpu === undefined ? 0 : Number(quantityMilliValue(cpu))
}
