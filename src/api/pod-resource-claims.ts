/** Which claims for devices are a pod's. */
import type { Pod, PodResourceClaim } from './generated/core/v1.ts'
import type { ResourceClaim } from './generated/resource/v1.ts'
import { equalJson } from './json-value.ts'
import { isControlledBy } from './metadata.ts'

/** The name of the claim that an entry of a pod stands for. */
export type ClaimName =
  | { readonly name: string; /** It must be the pod's own. */ readonly isGenerated: boolean }
  /** One is to be made of a template. */
  | 'not made'
  /** Somebody decided that the pod can do without. */
  | 'not needed'

export function claimNameOf({ status }: Pod, entry: PodResourceClaim): ClaimName {
  if (entry.resourceClaimName !== undefined) return { name: entry.resourceClaimName, isGenerated: false }
  const made = status?.resourceClaimStatuses?.find(({ name }) => name === entry.name)
  if (made === undefined) return 'not made'
  return made.resourceClaimName === undefined
    ? 'not needed'
    : { name: made.resourceClaimName, isGenerated: true }
}

/** The keys of all claims that are a pod's as far as it knows, or were made for it by whoever placed it. */
export function claimKeysOf(pod: Pod): readonly string[] {
  const names = (pod.spec?.resourceClaims ?? []).map(entry => claimNameOf(pod, entry))
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName
  const keys = names.flatMap(name => (typeof name === 'string' ? [] : [name.name]))
  const namespace = pod.metadata?.namespace ?? ''
  return [...new Set(extended === undefined ? keys : [...keys, extended])].map(name => `${namespace}/${name}`)
}

/** Another object may have got the name that was meant for the pod's own. */
export function isUsableBy(claim: ResourceClaim, pod: Pod, isGenerated: boolean): boolean {
  return !isGenerated || isControlledBy(claim, pod)
}

export function isReservedFor(claim: ResourceClaim, pod: Pod): boolean {
  return claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata?.uid) ?? false
}

/** Whether nothing changed that decides about the claims of a pod that may run. */
export function hasSameClaims(before: Pod, after: Pod): boolean {
  return (
    before.spec?.nodeName === after.spec?.nodeName &&
    equalJson(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses)
  )
}
