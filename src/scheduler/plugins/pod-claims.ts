import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'

/** True if the pod uses the claim. */
export function usesClaim(pod: Pod, { metadata }: PersistentVolumeClaim): boolean {
  if (pod.metadata.namespace !== metadata.namespace) return false
  return claimsOf(pod).some(({ name }) => name === metadata.name)
}
