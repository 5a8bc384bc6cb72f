import type { Taint, Toleration } from '#/api/generated/core/v1.ts'
import { tolerates } from '#/api/taints.ts'

/**
 * Time for which a pod tolerates these taints: Infinity without taints, zero if one is not tolerated,
 * otherwise the shortest `tolerationSeconds` of the matching tolerations.
 */
export function minTolerationMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const used = taints.map(taint => tolerations.filter(toleration => tolerates(toleration, taint)))
  if (used.some(each => each.length === 0)) return 0
  const seconds = used
    .flat()
    .flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds]))
  return Math.max(0, Math.min(Infinity, ...seconds.map(Number))) * 1_000
}
