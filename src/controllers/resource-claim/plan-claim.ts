import type {
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimStatus,
} from '#/api/generated/resource/v1.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'

/** Whoever gives devices to a claim puts it there first; while it is, the claim cannot go. */
export const devicesFinalizer = 'resource.kubernetes.io/delete-protection'

export interface ClaimWorld {
  readonly claim: ResourceClaim
  /** Whether a consumer is gone or done. Of one that is no pod nobody knows. */
  readonly isOver: (consumer: ResourceClaimConsumerReference) => boolean
  /** Whether the claim was made for a pod that will not run any more. */
  readonly isOrphan: boolean
}

export interface ClaimPlan {
  /** When another than now. */
  readonly status?: ResourceClaimStatus
  readonly removeFinalizer: boolean
  readonly delete: boolean
}

/**
 * Reservations end with those who have them, and with the last the devices are free again: whoever wants
 * the claim next may want it elsewhere. A claim that nobody has used yet keeps its devices.
 */
export function planClaim({ claim, isOver, isOrphan }: ClaimWorld): ClaimPlan {
  const { allocation, reservedFor = [], ...rest } = claim.status ?? {}
  const left = reservedFor.filter(consumer => !isOver(consumer))
  const isProtected = hasFinalizer(claim, devicesFinalizer)
  const isUnused = left.length === 0
  const isLeft = left.length < reservedFor.length
  const isGoing = isBeingDeleted(claim)
  const isFreed = isProtected && isUnused && (isLeft || isGoing)
  const staysAllocated = allocation !== undefined && !isFreed
  const isChanged = isLeft || (isFreed && allocation !== undefined)
  return {
    ...(isChanged && {
      status: { ...rest, ...(staysAllocated && { allocation }), ...(!isUnused && { reservedFor: left }) },
    }),
    removeFinalizer: isProtected && !staysAllocated && (isLeft || isFreed),
    delete: isUnused && isOrphan && !isGoing,
  }
}
