/** Taints and tolerations. https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/ */
import type { Taint, Toleration } from '../generated/core/v1.ts'

/** True if the toleration tolerates the taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', effect = '', operator = 'Equal', value = '' } = toleration
  if (effect !== '' && effect !== taint.effect) return false
  if (key !== '' && key !== taint.key) return false
  switch (operator) {
    case 'Exists':
      return true
    case '':
    case 'Equal':
      return key !== '' && value === (taint.value ?? '')
    case 'Lt':
      return isLess(taint.value, value)
    case 'Gt':
      return isLess(value, taint.value)
    default:
      return false
  }
}

/** The first taint with one of these effects that no toleration tolerates. */
export function findMatchingUntoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint | undefined {
  return taints?.find(taint => {
    return effects.includes(taint.effect) && !tolerations?.some(toleration => tolerates(toleration, taint))
  })
}

/** The effects that prevent scheduling to a node. */
export const doNotScheduleEffects = ['NoSchedule', 'NoExecute'] as const

function isLess(left: string | undefined, right: string | undefined): boolean {
  const [small, large] = [wholeNumber(left), wholeNumber(right)]
  return small !== undefined && large !== undefined && small < large
}

function wholeNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^-?(?:0|[1-9][0-9]{0,18})$/.test(text) ? BigInt(text) : undefined
}
