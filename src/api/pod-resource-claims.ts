/** Resource claims of a pod. */
import type { Pod, PodResourceClaim } from './generated/core/v1.ts'
import type { ResourceClaim } from './generated/resource/v1.ts'
import { equalJson } from './json-value.ts'
import { isControlledBy } from './metadata.ts'

/** The name of the claim for an entry in `spec.resourceClaims`. */
export type ClaimName =
  | { readonly name: string; /** Must be owned by the pod. */ readonly isGenerated: boolean }
  /** To be generated from a template. */
  | 'not made'
  /** The pod does not need the claim: its status has an entry without a name. */
  | 'not needed'

export function claimNameOf({ status }: Pod, entry: PodResourceClaim): ClaimName {
  if (entry.resourceClaimName !== undefined) return { name: entry.resourceClaimName, isGenerated: false }
  const made = status?.resourceClaimStatuses?.find(({ name }) => name === entry.name)
  if (made === undefined) return 'not made'
  return made.resourceClaimName === undefined
    ? 'not needed'
    : { name: made.resourceClaimName, isGenerated: true }
}

/** Keys of all known claims of a pod, including the one that the scheduler created for extended resources. */
export function claimKeysOf(pod: Pod): readonly string[] {
  const names = (pod.spec?.resourceClaims ?? []).map(entry => claimNameOf(pod, entry))
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName
  const keys = names.flatMap(name => (typeof name === 'string' ? [] : [name.name]))
  const namespace = pod.metadata?.namespace ?? ''
  return [...new Set(extended === undefined ? keys : [...keys, extended])].map(name => `${namespace}/${name}`)
}

/** A generated claim must be owned by the pod: another object may have taken its name. */
export function isUsableBy(claim: ResourceClaim, pod: Pod, isGenerated: boolean): boolean {
  return !isGenerated || isControlledBy(claim, pod)
}

export function isReservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata?.uid) ?? false
}

/** True if the fields that determine the claims of a scheduled pod are unchanged. */
export function hasSameClaims(before: Pod, after: Pod): boolean {
  return (
    before.spec?.nodeName === after.spec?.nodeName &&
    equalJson(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses)
  )
}
