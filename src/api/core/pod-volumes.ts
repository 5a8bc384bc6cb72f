/** PersistentVolumeClaims used by pods. */
import type { PersistentVolumeClaim, Pod } from '../generated/core/v1.ts'
import { formatKey, isControlledBy } from '../metadata.ts'

/** A reference from a pod to a claim. */
export interface ClaimOfPod {
  readonly name: string
  /** Created for the pod from an ephemeral volume; usable only if the pod owns it. */
  readonly isEphemeral: boolean
}

export function claimsOf(pod: Pod): readonly ClaimOfPod[] {
  const { volumes } = pod.spec ?? {}
  if (volumes === undefined) return none
  const claims: ClaimOfPod[] = []
  for (const { name, persistentVolumeClaim, ephemeral } of volumes) {
    if (persistentVolumeClaim) claims.push({ name: persistentVolumeClaim.claimName, isEphemeral: false })
    else if (ephemeral) claims.push({ name: ephemeralClaimName(pod, name), isEphemeral: true })
  }
  return claims
}

const none: readonly ClaimOfPod[] = []

export function ephemeralClaimName(pod: Pod, volume: string): string {
  return `${pod.metadata.name ?? ''}-${volume}`
}

export function isClaimForPod(claim: PersistentVolumeClaim, pod: Pod): boolean {
  return claim.metadata.namespace === pod.metadata.namespace && isControlledBy(claim, pod)
}

export function volumeClaimKeysOf(pod: Pod): readonly string[] {
  const namespace = pod.metadata.namespace ?? ''
  return claimsOf(pod).map(({ name }) => formatKey({ namespace, name }))
}
