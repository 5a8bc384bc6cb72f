import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
  PersistentVolumeClaimStatus,
} from '#/api/generated/core/v1.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/quantity.ts'

/** The size to expand the volume to; undefined if it is large enough. */
export function planExpansion(claim: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  const { claimRef } = volume.spec ?? {}
  const isBound = claimRef?.namespace === claim.metadata?.namespace && claimRef?.uid === claim.metadata?.uid
  if (!isBound || claim.status?.phase !== 'Bound') return undefined
  const wanted = claim.spec?.resources?.requests?.['storage']
  if (wanted === undefined || !isLarger(wanted, claim.status.capacity?.['storage'])) return undefined
  const allocated = claim.status.allocatedResources?.['storage']
  // An expansion in progress is completed first: the storage may already have that size and cannot shrink.
  const isBegun = claim.status.allocatedResourceStatuses?.['storage'] === 'ControllerResizeInProgress'
  return isBegun && allocated !== undefined ? allocated : wanted
}

/** Conditions that report the progress of an expansion. */
const progress: ReadonlySet<string> = new Set([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
])

export function expandingStatus(
  { status = {} }: PersistentVolumeClaim,
  size: string,
  nowText: string,
): PersistentVolumeClaimStatus {
  const known = status.conditions?.find(({ type }) => type === 'Resizing')
  const condition = known ?? { type: 'Resizing', status: 'True', lastTransitionTime: nowText }
  return {
    conditions: [...withoutProgress(status), condition],
    allocatedResources: { storage: size },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
  }
}

/** A merge patch, in which `null` removes a field. */
export function expandedStatus(
  { status = {} }: PersistentVolumeClaim,
  size: string,
): Readonly<Record<string, unknown>> {
  const conditions = withoutProgress(status)
  return {
    capacity: { storage: size },
    conditions: conditions.length === 0 ? null : conditions,
    allocatedResourceStatuses: { storage: null },
  }
}

function withoutProgress({ conditions = [] }: PersistentVolumeClaimStatus): PersistentVolumeClaimCondition[] {
  return conditions.filter(({ type }) => !progress.has(type))
}

function isLarger(wanted: string, than: string | undefined): boolean {
  return compareQuantities(amountOf(wanted), amountOf(than)) > 0
}

function amountOf(text: string | undefined): Quantity {
  return (text !== undefined && tryParseQuantity(text)) || zeroQuantity
}
