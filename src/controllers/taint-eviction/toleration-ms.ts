import type { Taint, Toleration } from '#/api/generated/core/v1.ts'
import { tolerates } from '#/api/taints.ts'

/**
 * How long a pod may stay with these taints: for ever without any, not at all when one is not tolerated, otherwise as
 * long as the shortest of the tolerations that are used.
 */
export function tolerationMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const used = taints.map(taint => tolerations.filter(toleration => tolerates(toleration, taint)))
  if (used.some(each => each.length === 0)) return 0
  const seconds = used
    .flat()
    .flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds]))
  return Math.max(0, Math.min(Infinity, ...seconds.map(Number))) * 1_000
}
