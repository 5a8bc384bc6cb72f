/**
 * The epochs of a history: a store that was repaired, or restored from a snapshot, may have lost acknowledged writes.
 * It continues with the objects that are left, at a revision that no client has seen.
 */
import type { EpochRecord, HistoryRecord, Objects, Operation } from './history.ts'

export interface Epoch {
  /** Operations that returned later were answered in this epoch, or in a later one. */
  readonly startMs: number
  /** Revisions that were given in this epoch are higher. */
  readonly revision: number
  /** The objects at this revision. Their own revisions are older. */
  readonly objects: Objects
  /** Undefined for the first epoch. */
  readonly record: EpochRecord | undefined
}

export class Epochs {
  /** In their order. */
  readonly all: readonly Epoch[]

  constructor(history: readonly HistoryRecord[]) {
    const records = history.filter(record => record.type === 'epoch')
    this.all = [firstEpoch, ...records.map(record => ({ ...record, record }))]
  }

  get last(): Epoch {
    return this.all.at(-1)!
  }

  /** The epoch in which an operation was answered that returned at this time. */
  ofReturn(returnMs: number): Epoch {
    return this.all.findLast(({ startMs }) => startMs < returnMs) ?? firstEpoch
  }

  ofRevision(revision: number): Epoch {
    return this.all.findLast(epoch => epoch.revision <= revision) ?? firstEpoch
  }

  /** The epochs in which an operation of unknown outcome may have happened: one that was interrupted, or two. */
  ofUnknown({ callMs, returnMs }: Operation): readonly Epoch[] {
    const first = this.all.indexOf(this.ofReturn(callMs))
    return this.all.slice(first, this.all.indexOf(this.ofReturn(returnMs)) + 1)
  }
}

const firstEpoch: Epoch = { startMs: -Infinity, revision: 0, objects: {}, record: undefined }
