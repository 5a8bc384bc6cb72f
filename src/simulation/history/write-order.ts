/**
 * The order of all writes, of which the responses show the revision and the time: it bounds when operations without a
 * revision can have happened. Every write of unknown outcome could explain any later state, so that without bounds a
 * search has too many choices. A write that happened while a watch was complete was seen by it.
 */
import type { HistoryRecord, Operation } from './history.ts'
import type { RevisionLog } from './revision-log.ts'

export class WriteOrder {
  readonly #log: RevisionLog
  /** The highest revision that was acknowledged by a time. */
  readonly #revisionsByReturn: readonly Step[]
  /** The last call of the writes up to a revision: all higher revisions came later. */
  readonly #callsByRevision: readonly Step[]
  /** The lowest revision of the writes after a time; times and revisions are negated. */
  readonly #revisionsByCall: readonly Step[]

  constructor(history: readonly HistoryRecord[], log: RevisionLog) {
    this.#log = log
    const writes = history.flatMap(record => {
      if (record.type !== 'operation' || record.verb === 'get' || record.outcome.type !== 'ok') return []
      const { version } = record.outcome
      return version === undefined ? [] : [{ ...record, revision: version.revision }]
    })
    const steps = (step: (write: (typeof writes)[number]) => Step): readonly Step[] =>
      highestSoFar(writes.map(step))
    this.#revisionsByReturn = steps(({ returnMs, revision }) => ({ at: returnMs, value: revision }))
    this.#callsByRevision = steps(({ revision, callMs }) => ({ at: revision, value: callMs }))
    this.#revisionsByCall = steps(({ callMs, revision }) => ({ at: -callMs, value: -revision }))
  }

  /** Everything that happened up to this time has a lower revision. */
  revisionBelow(returnMs: number): number {
    return -(valueBefore(this.#revisionsByCall, -returnMs) ?? -Infinity)
  }

  /** The time before which a write that was not seen has not happened: that of its call, or later. */
  earliestMs(operation: Operation): number {
    const acknowledged = valueBefore(this.#revisionsByReturn, operation.callMs) ?? 0
    const covered = this.#log.coveredUntil(acknowledged)
    const revision = this.#firstDeletion(operation, acknowledged, covered) ?? covered + 1
    return Math.max(operation.callMs, valueBefore(this.#callsByRevision, revision) ?? 0)
  }

  /** The events of deletions do not say which operation they are of. */
  #firstDeletion({ verb, key }: Operation, after: number, until: number): number | undefined {
    if (verb !== 'delete') return undefined
    const isDeletion = ({
      revision,
      value,
    }: {
      readonly revision: number
      readonly value: string | undefined
    }) => value === undefined && revision > after && revision <= until
    return this.#log.ofKey(key).find(isDeletion)?.revision
  }
}

interface Step {
  readonly at: number
  readonly value: number
}

function highestSoFar(steps: readonly Step[]): readonly Step[] {
  let highest = -Infinity
  return steps
    .toSorted((left, right) => left.at - right.at)
    .map(({ at, value }) => {
      highest = Math.max(highest, value)
      return { at, value: highest }
    })
}

/** The value of the last step before a position. */
function valueBefore(steps: readonly Step[], position: number): number | undefined {
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (steps[middle]!.at < position) low = middle + 1
    else high = middle
  }
  return steps[low - 1]?.value
}
