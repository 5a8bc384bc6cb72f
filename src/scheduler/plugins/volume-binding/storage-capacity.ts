import type { Node, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { CSIDriver, CSIStorageCapacity, StorageClass } from '#/api/generated/storage/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { requestedSize } from '#/api/core/persistent-volumes.ts'
import { compareQuantities, tryParseQuantity, type Quantity } from '#/api/text/quantity.ts'
import { compileLabelSelector, type Selector } from '#/api/selectors/selector.ts'

export interface CapacityWorld {
  readonly driver: (name: string) => CSIDriver | undefined
  /** The storage capacities of a class. */
  readonly capacities: (storageClass: string) => readonly CSIStorageCapacity[]
}

/**
 * Tests if a node has enough storage capacity for the claim; undefined if the driver does not publish
 * capacities. https://kubernetes.io/docs/concepts/storage/storage-capacity/
 */
export function hasEnoughCapacity(
  claim: PersistentVolumeClaim,
  { metadata, provisioner }: Stored<StorageClass>,
  { driver, capacities }: CapacityWorld,
): ((node: Node) => boolean) | undefined {
  if (claim.spec?.resources?.requests?.['storage'] === undefined) return undefined
  if (driver(provisioner)?.spec?.storageCapacity !== true) return undefined
  const size = requestedSize(claim)
  const places = capacities(metadata.name).flatMap(capacity => {
    const limit = volumeLimit(capacity)
    const isEnough = limit !== undefined && compareQuantities(limit, size) >= 0
    return isEnough && capacity.nodeTopology ? [topologyOf(capacity.nodeTopology)] : []
  })
  return node => places.some(selector => selector.matches(node.metadata.labels ?? {}))
}

/** Maximum size of a single volume. */
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
