/** Resource claims of a pod. */
import type { Pod, PodResourceClaim } from '../generated/core/v1.ts'
import type { ResourceClaim } from '../generated/resource/v1.ts'
import { equalJson } from '../text/json-value.ts'
import { isControlledBy } from '../metadata.ts'

/** The name of the claim for an entry in `spec.resourceClaims`. */
export type ResourceClaimName =
  | { readonly name: string; /** Must be owned by the pod. */ readonly isGenerated: boolean }
  /** To be generated from a template. */
  | 'pending'
  /** The pod does not need the claim: its status has an entry without a name. */
  | 'not-needed'

export function resourceClaimNameOf({ status }: Pod, entry: PodResourceClaim): ResourceClaimName {
  if (entry.resourceClaimName !== undefined) return { name: entry.resourceClaimName, isGenerated: false }
  const generated = status?.resourceClaimStatuses?.find(({ name }) => name === entry.name)
  if (generated === undefined) return 'pending'
  return generated.resourceClaimName === undefined
    ? 'not-needed'
    : { name: generated.resourceClaimName, isGenerated: true }
}

/** Keys of all known claims of a pod, including the one that the scheduler created for extended resources. */
export function resourceClaimKeysOf(pod: Pod): readonly string[] {
  const names = (pod.spec?.resourceClaims ?? []).map(entry => resourceClaimNameOf(pod, entry))
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName
  const keys = names.flatMap(name => (typeof name === 'string' ? [] : [name.name]))
  const namespace = pod.metadata.namespace ?? ''
  return [...new Set(extended === undefined ? keys : [...keys, extended])].map(name => `${namespace}/${name}`)
}

/** A generated claim must be owned by the pod: another object may have taken its name. */
export function isClaimUsableByPod(claim: ResourceClaim, pod: Pod, isGenerated: boolean): boolean {
  return !isGenerated || isControlledBy(claim, pod)
}

export function isReservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid) ?? false
}

/** True if the fields that determine the claims of a scheduled pod are unchanged. */
export function hasSameClaims(oldPod: Pod, pod: Pod): boolean {
  return (
    oldPod.spec?.nodeName === pod.spec?.nodeName &&
    equalJson(oldPod.status?.resourceClaimStatuses, pod.status?.resourceClaimStatuses)
  )
}
