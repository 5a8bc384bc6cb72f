/** Folds writes into the objects that they changed between two moments. */
import type { WriteRecord, WrittenObject } from '#/api/write-record.ts'
import { describeAuthor } from './describe-version.ts'
import type { Moment } from './moment.ts'

export interface ChangedObject {
  readonly object: WrittenObject
  /** The first write after the start of the interval. */
  readonly first: WriteRecord['type']
  /** The last write in the interval. */
  readonly last: WriteRecord['type']
  /** Number of writes. */
  readonly writes: number
  /** Who wrote it, in the order of their first writes. */
  readonly authors: readonly string[]
}

export interface Interval {
  /** Exclusive. */
  readonly from: Moment
  /** Inclusive. */
  readonly to: Moment
}

export type Position = 'before' | 'within' | 'after'

export function positionOf({ revision, timeMs }: WriteRecord, { from, to }: Interval): Position {
  if (from.type === 'revision' ? revision <= from.revision : timeMs <= from.timeMs) return 'before'
  return (to.type === 'revision' ? revision <= to.revision : timeMs <= to.timeMs) ? 'within' : 'after'
}

const authorsMax = 5

/** Adds a write, in the order of revisions. */
export function addWrite(changed: Map<string, ChangedObject>, { object, type, origin }: WriteRecord): void {
  const { apiVersion, resource, namespace = '', name } = object
  const group = apiVersion.includes('/') ? apiVersion.replace(/\/.*$/, '') : ''
  const key = JSON.stringify([group, resource, namespace, name])
  const known = changed.get(key)
  const author = describeAuthor(origin)
  const { authors = [], first = type, writes = 0 } = known ?? {}
  changed.set(key, {
    object,
    first,
    last: type,
    writes: writes + 1,
    authors: authors.includes(author) || authors.length >= authorsMax ? authors : [...authors, author],
  })
}
