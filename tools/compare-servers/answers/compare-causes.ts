import type { ClassifiedDifference } from './difference-class.ts'

interface Cause {
  readonly field?: string
  readonly reason?: string
  readonly message?: string
}

/**
 * Causes are matched by field and reason. Missing and additional ones and another order are differences of class
 * `causes`; another message of the same cause is one of class `text`.
 */
export function compareCauses(
  ours: readonly Cause[],
  theirs: readonly Cause[],
): readonly ClassifiedDifference[] {
  const [left, right] = [grouped(ours), grouped(theirs)]
  const differences: ClassifiedDifference[] = []
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [mine, others] = [left.get(key) ?? [], right.get(key) ?? []]
    const place = `/details/causes/${key}`
    for (let at = 0; at < Math.max(mine.length, others.length); at++) {
      const [one, other] = [mine[at], others[at]]
      if (one === other) continue
      const kind = one === undefined || other === undefined ? 'causes' : 'text'
      differences.push({ class: kind, place, ours: one, theirs: other })
    }
  }
  const isSameSet = differences.every(({ class: kind }) => kind === 'text')
  if (isSameSet && orderOf(ours) !== orderOf(theirs)) {
    const place = '/details/causes (order)'
    differences.push({ class: 'causes', place, ours: orderOf(ours), theirs: orderOf(theirs) })
  }
  return differences
}

function grouped(causes: readonly Cause[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const cause of causes) {
    const { message = '' } = cause
    groups.set(keyOf(cause), [...(groups.get(keyOf(cause)) ?? []), message])
  }
  return groups
}

function orderOf(causes: readonly Cause[]): string {
  return causes.map(keyOf).join(', ')
}

function keyOf({ field = '', reason = '' }: Cause): string {
  return `${field} ${reason}`
}
