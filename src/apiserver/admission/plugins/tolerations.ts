/** Merging and comparison of tolerations. */
import type { Toleration } from '#/api/generated/core/v1.ts'

/** Both lists, without tolerations that another one covers. */
export function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): readonly Toleration[] {
  const all = [...first, ...second]
  return all.filter(
    (toleration, index) =>
      !all.some((other, place) => {
        if (place === index || !covers(other, toleration)) return false
        // If two cover each other, the first one stays.
        return place < index || !covers(toleration, other)
      }),
  )
}

/** True if every toleration is covered by an allowed one. An empty `allowed` list allows everything. */
export function areAllowed(tolerations: readonly Toleration[], allowed: readonly Toleration[]): boolean {
  return (
    allowed.length === 0 || tolerations.every(toleration => allowed.some(each => covers(each, toleration)))
  )
}

/** True if `wide` tolerates everything that `narrow` tolerates. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  const { key = '', effect = '', operator = '', value = '', tolerationSeconds } = wide
  if (key !== (narrow.key ?? '') && !(key === '' && operator === 'Exists')) return false
  if (effect !== '' && effect !== (narrow.effect ?? '')) return false
  if (effect === 'NoExecute' && tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > tolerationSeconds) return false
  }
  if (operator === 'Exists') return true
  const isSameOperator = operator === (narrow.operator ?? '')
  if (operator === 'Lt' || operator === 'Gt') return isSameOperator && value === (narrow.value ?? '')
  return isEqual(narrow.operator ?? '') && value === (narrow.value ?? '')
}

/** An empty operator means `Equal`. */
function isEqual(operator: string): boolean {
  return operator === '' || operator === 'Equal'
}
