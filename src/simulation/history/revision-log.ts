/**
 * All writes that a history shows, by their revision: those that were acknowledged, and those that a read or a watch
 * has seen. Where two records disagree about a revision, one of them is wrong.
 */
import { Epochs } from './epochs.ts'
import type { HistoryRecord, Objects, RevisionRange, WatchSession } from './history.ts'
import type { KnownWrites } from './object-model.ts'

export interface LoggedWrite {
  readonly revision: number
  readonly key: string
  /** Undefined for a deletion. */
  readonly value: string | undefined
  /** The client that showed it first. */
  readonly source: string
}

export class RevisionLog {
  readonly #writes = new Map<number, LoggedWrite>()
  readonly #byKey = new Map<string, LoggedWrite[]>()
  readonly #byValue = new Map<string, LoggedWrite>()
  readonly #covered: readonly RevisionRange[]
  readonly epochs: Epochs
  /** Records that contradict each other. */
  readonly contradictions: readonly string[]

  constructor(history: readonly HistoryRecord[]) {
    this.epochs = new Epochs(history)
    const contradictions = new Set<string>()
    for (const write of writesIn(history)) {
      const known = this.#writes.get(write.revision)
      if (known === undefined) {
        const other = this.#add(write)
        if (other !== undefined) contradictions.add(describeRepetition(other, write))
      } else if (!isSame(known, write)) contradictions.add(describeContradiction(known, write))
    }
    for (const writes of this.#byKey.values()) writes.sort((left, right) => left.revision - right.revision)
    this.contradictions = [...contradictions]
    this.#covered = mergeRanges(history.filter(record => record.type === 'watch').map(rangeOf))
  }

  keys(): readonly string[] {
    return [...this.#byKey.keys()]
  }

  /** In the order of revisions. */
  ofKey(key: string): readonly LoggedWrite[] {
    return this.#byKey.get(key) ?? []
  }

  all(): readonly LoggedWrite[] {
    return [...this.#writes.values()].sort((left, right) => left.revision - right.revision)
  }

  ofValue(key: string, value: string): LoggedWrite | undefined {
    return this.#byValue.get(`${key} ${value}`)
  }

  /** The last write of a key up to this revision, without those that were lost before the epoch of the revision. */
  lastOf(key: string, revision: number): LoggedWrite | undefined {
    const writes = this.ofKey(key)
    const last = writes[firstIndexAfter(writes, revision) - 1]
    const epoch = this.epochs.ofRevision(revision)
    if (last !== undefined && last.revision > epoch.revision) return last
    if (!Object.hasOwn(epoch.objects, key)) return undefined
    return { ...epoch.objects[key]!, key, source: epochSource }
  }

  /** What watches have shown of a key after this revision. */
  writesAfter(key: string, revision: number): KnownWrites {
    const writes = this.ofKey(key)
    const next = writes[firstIndexAfter(writes, revision)]
    const untilRevision = this.coveredUntil(revision)
    return next !== undefined && next.revision <= untilRevision ? { next, untilRevision } : { untilRevision }
  }

  /** True if a watch has shown all writes after `from` up to `to`, so that none is missing here. */
  isCovered(from: number, to: number): boolean {
    // All objects are known with which an epoch begins.
    const after = Math.max(from, this.epochs.ofRevision(to).revision)
    return after >= to || this.#covered.some(range => range.after <= after && to <= range.last)
  }

  /** The revision up to which watches have shown all writes after this one. */
  coveredUntil(revision: number): number {
    return this.#covered.find(({ after, last }) => after <= revision && revision < last)?.last ?? revision
  }

  /** The next revision after which watches have shown all writes, in the same epoch. */
  coveredAfter(revision: number): number | undefined {
    const next = this.#covered.find(({ after, last }) => revision <= after && after < last)?.after
    if (next === undefined || this.epochs.ofRevision(next) !== this.epochs.ofRevision(revision))
      return undefined
    return next
  }

  /** Returns a write of the same value at another revision, which no two operations write. */
  #add(write: LoggedWrite): LoggedWrite | undefined {
    this.#writes.set(write.revision, write)
    this.#byKey.getOrInsertComputed(write.key, () => []).push(write)
    if (write.value === undefined) return undefined
    const name = `${write.key} ${write.value}`
    const other = this.#byValue.get(name)
    this.#byValue.set(name, write)
    return other
  }
}

/** The index of the first write after a revision, in the order of revisions. */
export function firstIndexAfter(writes: readonly LoggedWrite[], revision: number): number {
  let [low, high] = [0, writes.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (writes[middle]!.revision <= revision) low = middle + 1
    else high = middle
  }
  return low
}

/** What a watch has shown completely. */
export function rangeOf({ afterRevision, events }: WatchSession): RevisionRange {
  return { after: afterRevision, last: Math.max(afterRevision, events.at(-1)?.revision ?? 0) }
}

function mergeRanges(ranges: readonly RevisionRange[]): readonly RevisionRange[] {
  const merged: RevisionRange[] = []
  for (const range of ranges.toSorted((left, right) => left.after - right.after)) {
    const before = merged.at(-1)
    if (before === undefined || range.after > before.last) merged.push(range)
    else merged[merged.length - 1] = { after: before.after, last: Math.max(before.last, range.last) }
  }
  return merged
}

function* writesIn(history: readonly HistoryRecord[]): Generator<LoggedWrite, void, undefined> {
  for (const record of history) {
    switch (record.type) {
      case 'operation':
        if (record.outcome.type === 'ok' && record.outcome.version !== undefined) {
          yield { ...record.outcome.version, key: record.key, source: `${record.client} (${record.verb})` }
        }
        break
      case 'list':
      case 'informer':
        yield* objectsOf(record.objects, `${record.client} (${record.type})`)
        break
      case 'watch':
        for (const event of record.events) {
          if (event.type === 'BOOKMARK') continue
          const { key, revision, value } = event
          const source = `${record.client} (${event.type})`
          yield { key, revision, value: event.type === 'DELETED' ? undefined : value, source }
        }
        break
      case 'epoch':
        yield* objectsOf(record.objects, epochSource)
        break
      case 'run':
      case 'fault':
      case 'expired-list':
      case 'violation':
        break
    }
  }
}

const epochSource = 'the replaced store'

function* objectsOf(objects: Objects, source: string): Generator<LoggedWrite, void, undefined> {
  for (const [key, version] of Object.entries(objects)) yield { ...version, key, source }
}

function isSame(left: LoggedWrite, right: LoggedWrite): boolean {
  return left.key === right.key && left.value === right.value
}

function describeContradiction(left: LoggedWrite, right: LoggedWrite): string {
  const describe = ({ key, value, source }: LoggedWrite): string =>
    `${key} ${value ?? 'deleted'} by ${source}`
  return `revision ${left.revision} is two different writes: ${describe(left)}, ${describe(right)}`
}

function describeRepetition(left: LoggedWrite, right: LoggedWrite): string {
  const { key, value } = left
  const places = [left, right].map(({ revision, source }) => `at ${revision} by ${source}`).sort()
  return `${key} ${value} is written twice: ${places.join(', ')}`
}
