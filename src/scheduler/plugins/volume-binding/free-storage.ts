import type { Node, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { CSIDriver, CSIStorageCapacity, StorageClass } from '#/api/generated/storage/v1.ts'
import { requestedSize } from '#/api/persistent-volumes.ts'
import { compareQuantities, tryParseQuantity, type Quantity } from '#/api/quantity.ts'
import { compileLabelSelector, type Selector } from '#/api/selector.ts'

export interface CapacityWorld {
  readonly driver: (name: string) => CSIDriver | undefined
  /** What is left for volumes of a class, here and there. */
  readonly capacities: (storageClass: string) => readonly CSIStorageCapacity[]
}

/**
 * Where there is room for a volume of the claim; undefined when its driver does not say.
 * https://kubernetes.io/docs/concepts/storage/storage-capacity/
 */
export function roomFor(
  claim: PersistentVolumeClaim,
  { metadata, provisioner }: StorageClass,
  { driver, capacities }: CapacityWorld,
): ((node: Node) => boolean) | undefined {
  if (claim.spec?.resources?.requests?.['storage'] === undefined) return undefined
  if (driver(provisioner)?.spec?.storageCapacity !== true) return undefined
  const size = requestedSize(claim)
  const places = capacities(metadata?.name ?? '').flatMap(capacity => {
    const limit = volumeLimit(capacity)
    const isEnough = limit !== undefined && compareQuantities(limit, size) >= 0
    return isEnough && capacity.nodeTopology ? [topologyOf(capacity.nodeTopology)] : []
  })
  return node => places.some(selector => selector.matches(node.metadata?.labels ?? {}))
}

/** How large one volume can be at most. */
export function volumeLimit({ maximumVolumeSize, capacity }: CSIStorageCapacity): Quantity | undefined {
  const text = maximumVolumeSize ?? capacity
  return text === undefined ? undefined : tryParseQuantity(text)
}

const compiled = new WeakMap<object, Selector>()

function topologyOf(topology: NonNullable<CSIStorageCapacity['nodeTopology']>): Selector {
  const known = compiled.get(topology)
  if (known !== undefined) return known
  const made = compileLabelSelector(topology)
  compiled.set(topology, made)
  return made
}
