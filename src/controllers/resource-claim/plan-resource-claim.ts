import type {
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimStatus,
} from '#/api/generated/resource/v1.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'

/** Set before devices are allocated; prevents deletion of the claim while they are. */
export const deleteProtectionFinalizer = 'resource.kubernetes.io/delete-protection'

export interface ResourceClaimWorld {
  readonly claim: ResourceClaim
  /** True if the consumer is deleted or finished. Always false for consumers other than pods. */
  readonly isOver: (consumer: ResourceClaimConsumerReference) => boolean
  /** True if the claim was generated for a pod that will not run any more. */
  readonly isOrphan: boolean
}

export interface ResourceClaimPlan {
  /** Only set if the status changes. */
  readonly status?: ResourceClaimStatus
  readonly removeFinalizer: boolean
  readonly delete: boolean
}

/**
 * Removes reservations of finished consumers. When the last one is removed the claim is deallocated, since
 * the next consumer may need it on another node. A claim that was never reserved stays allocated.
 */
export function planResourceClaim({ claim, isOver, isOrphan }: ResourceClaimWorld): ResourceClaimPlan {
  const { allocation, reservedFor = [], ...rest } = claim.status ?? {}
  const left = reservedFor.filter(consumer => !isOver(consumer))
  const isProtected = hasFinalizer(claim, deleteProtectionFinalizer)
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
