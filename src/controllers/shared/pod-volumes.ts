/** PersistentVolumeClaims used by pods. */
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { volumeClaimKeysOf } from '#/api/core/pod-volumes.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import { isPodTerminal } from '../pods.ts'

export function podsByClaim(pods: Informer<Pod>): Index<Stored<Pod>> {
  return pods.index('volume claims', volumeClaimKeysOf)
}

/** True if no container is running or will be started. */
export function isPodTerminated(pod: Pod): boolean {
  if (isPodTerminal(pod)) return true
  if (!isBeingDeleted(pod)) return false
  const {
    initContainerStatuses = [],
    containerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {}
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].every(
    ({ state }) => state?.terminated !== undefined || state?.waiting !== undefined,
  )
}
