import { isApiError } from '#/api/errors.ts'
import type { AllocationResult, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import { isBeingDeleted, keyOf, withFinalizer, withoutFinalizer, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { PodInfo } from '../../pod-info.ts'

/** Protects a claim from deletion while it is allocated. */
const finalizer = 'resource.kubernetes.io/delete-protection'

/** Maximum attempts on conflicts. */
const triesMax = 5

export interface ClaimWork {
  readonly client: Client
  readonly signal: AbortSignal
  readonly nowMs: number
}

export interface ClaimAllocation {
  readonly claim: Stored<ResourceClaim>
  /** Undefined if the claim is already allocated. */
  readonly allocation: AllocationResult | undefined
}

/** Writes the allocation, if the claim has none, and the reservation for the pod. */
export async function reserveFor(
  { pod, uid }: PodInfo,
  { claim, allocation }: ClaimAllocation,
  { client, signal, nowMs }: ClaimWork,
): Promise<Stored<ResourceClaim>> {
  const key = keyOf(claim)
  return retried(claim, { client, signal }, async latest => {
    if (isBeingDeleted(latest)) throw new Error(`claim ${key} got deleted in the meantime`)
    const { allocation: known, reservedFor = [] } = latest.status ?? {}
    if (allocation && known) throw new Error(`claim ${key} got allocated elsewhere in the meantime`)
    const granted = allocation ?? known
    if (granted === undefined) throw new Error(`claim ${key} got deallocated elsewhere in the meantime`)
    const kept = withFinalizer(latest, finalizer)
    const ready =
      allocation === undefined || kept === latest
        ? latest
        : await client.update(resourceClaims, kept, { signal })
    const status = {
      ...ready.status,
      allocation: { allocationTimestamp: formatTime(nowMs), ...granted },
      reservedFor: [...reservedFor, { resource: 'pods', name: pod.metadata.name, uid }],
    }
    return client.updateStatus(resourceClaims, { ...ready, status }, { signal })
  })
}

/** Removes the allocation and reservations of a claim. */
export async function deallocate(claim: Stored<ResourceClaim>, client: Client): Promise<void> {
  const { allocation: _, reservedFor: __, devices: ___, ...status } = claim.status ?? {}
  await client.updateStatus(resourceClaims, { ...claim, status })
}

/** Removes the reservation for the pod. A patch, since the claim may have been changed concurrently. */
export async function unreserveFor(
  { uid }: PodInfo,
  { metadata }: Stored<ResourceClaim>,
  client: Client,
): Promise<void> {
  const { namespace, name, uid: claimUid } = metadata
  const patch = { metadata: { uid: claimUid }, status: { reservedFor: [{ $patch: 'delete', uid }] } }
  await client.patch(resourceClaims, { namespace, name, subresource: 'status' }, { type: 'strategic', patch })
}

/** Deletes a claim created for a pod that was not scheduled, including its finalizer. */
export async function deleteClaim(claim: Stored<ResourceClaim>, client: Client): Promise<void> {
  const { namespace, name } = claim.metadata
  try {
    await retried(claim, { client }, async latest => {
      const free = withoutFinalizer(latest, finalizer)
      return free === latest ? latest : client.update(resourceClaims, free)
    })
    await client.delete(resourceClaims, { namespace, name })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

/** Tries with the known version first, and with the newest after a conflict. */
async function retried(
  claim: Stored<ResourceClaim>,
  { client, signal }: Pick<ClaimWork, 'client'> & Partial<ClaimWork>,
  change: (latest: Stored<ResourceClaim>) => Promise<Stored<ResourceClaim>>,
): Promise<Stored<ResourceClaim>> {
  const { namespace, name } = claim.metadata
  let latest = claim
  for (let tries = 1; ; tries++) {
    try {
      return await change(latest)
    } catch (error) {
      if (!isApiError(error, 'Conflict') || tries >= triesMax) throw error
      latest = await client.get(resourceClaims, { namespace, name }, { signal })
    }
  }
}
