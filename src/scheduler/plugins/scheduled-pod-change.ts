import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { isAssigned } from '../pod-assignment.ts'

/** Reduces a pod event to assigned pods: a pod that gets a node is added, one that terminates is removed. */
export function scheduledPodChange({
  before,
  after,
}: {
  readonly before?: Stored<Pod>
  readonly after?: Stored<Pod>
}): {
  readonly was: Stored<Pod> | undefined
  readonly is: Stored<Pod> | undefined
} {
  // A deleted pod without nodeName was assumed on a node.
  if (after === undefined) return { was: before, is: undefined }
  return {
    was: before !== undefined && isAssigned(before) ? before : undefined,
    is: isAssigned(after) ? after : undefined,
  }
}
