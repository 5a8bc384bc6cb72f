/**
 * The order of all writes, of which the responses show the revision and the time: it bounds when operations without a
 * revision can have happened. Every write of unknown outcome could explain any later state, so that without bounds a
 * search has too many choices. A write that happened while a watch was complete was seen by it.
 */
import type { HistoryRecord, Interval, Operation } from './history.ts'
import type { RevisionLog } from './revision-log.ts'

export class WriteOrder {
  readonly #log: RevisionLog
  /** The highest revision that was acknowledged by a time. */
  readonly #revisionsByReturn: readonly Step[]
  /** The last call of the writes up to a revision: all higher revisions came later. */
  readonly #callsByRevision: readonly Step[]
  /** The lowest revision of the writes after a time; times and revisions are negated. */
  readonly #revisionsByCall: readonly Step[]

  /** The first return of writes and lists from a revision on; times and revisions are negated. */
  readonly #returnsByRevision: readonly Step[]

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
    const shown = [...writes, ...history.filter(record => record.type === 'list')]
    this.#returnsByRevision = highestSoFar(
      shown.map(({ revision, returnMs }) => ({ at: -revision, value: -returnMs })),
    )
  }

  /** Everything that happened up to this time has a lower revision. */
  revisionBelow(returnMs: number): number {
    return -(valueBefore(this.#revisionsByCall, -returnMs) ?? -Infinity)
  }

  /** When a write that was not seen can have happened: before watches show all writes, and after that. */
  intervalsOf(operation: Operation): readonly Interval[] {
    const { callMs } = operation
    const { epochs } = this.#log
    if (epochs.ofUnknown(operation).length > 1) return [{ callMs, returnMs: Infinity }]
    const acknowledged = valueBefore(this.#revisionsByReturn, callMs) ?? 0
    const known = Math.max(acknowledged, epochs.ofReturn(callMs).revision)
    if (this.#log.coveredUntil(known) > known) return [this.#intervalAfter(operation, known)]
    const covered = this.#log.coveredAfter(known)
    if (covered === undefined) return [{ callMs, returnMs: Infinity }]
    const returnMs = this.#shownMs(covered)
    const later = this.#intervalAfter(operation, covered)
    return returnMs < callMs ? [later] : [{ callMs, returnMs }, later]
  }

  /** After what watches have shown from this revision on. */
  #intervalAfter(operation: Operation, after: number): Interval {
    const covered = this.#log.coveredUntil(after)
    const revision = this.#firstDeletion(operation, after, covered) ?? covered + 1
    const callMs = Math.max(operation.callMs, valueBefore(this.#callsByRevision, revision) ?? 0)
    return { callMs, returnMs: Infinity }
  }

  /** The first time at which a response showed this revision or a higher one. */
  #shownMs(revision: number): number {
    return -(valueBefore(this.#returnsByRevision, 0.5 - revision) ?? -Infinity)
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
