import type { Job } from '#/api/generated/batch/v1.ts'
import { countCommonIndexes, countIndexes, readIndexRanges, type IndexRange } from '#/api/index-ranges.ts'

/**
 * The message of the first success policy rule that the succeeded indexes satisfy; undefined if none.
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/#success-policy
 */
export function matchSuccessPolicy({ spec }: Job, succeeded: readonly IndexRange[]): string | undefined {
  if (succeeded.length === 0) return undefined
  const index = (spec?.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) {
      return succeededCount !== undefined && countIndexes(succeeded) >= succeededCount
    }
    const wanted = readIndexRanges(succeededIndexes, spec?.completions ?? 0)
    if (wanted.length === 0) return false
    return countCommonIndexes(wanted, succeeded) >= (succeededCount ?? countIndexes(wanted))
  })
  return index === -1 ? undefined : `Matched rules at index ${index}`
}
