/** Tells pods that the node or the cluster depends on from others. */
import type { Pod } from '#/api/generated/core/v1.ts'

/** Priority of `system-cluster-critical`. */
const criticalPriority = 2_000_000_000

/** Critical pods are admitted under node pressure and never evicted. */
export function isCriticalPod(pod: Pod, isStatic: boolean): boolean {
  return isStatic || (pod.spec?.priority ?? 0) >= criticalPriority
}
