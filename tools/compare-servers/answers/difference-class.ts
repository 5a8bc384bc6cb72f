import type { Difference } from '../../compare-api/compare-values.ts'

export const differenceClasses = [
  'status',
  'reason',
  'causes',
  'warnings',
  'body',
  'headers',
  'objects',
  'text',
] as const

/** `objects`: a list has objects that only one server has. `text`: only the words of messages differ. */
export type DifferenceClass = (typeof differenceClasses)[number]

export interface ClassifiedDifference extends Difference {
  readonly class: DifferenceClass
}
