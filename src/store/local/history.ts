/**
 * All versions of all keys since the last compaction, in memory: the existing keys, their state at earlier
 * revisions, and the order of changes. It does no I/O, and values may be only in the journal.
 */
import { assert } from '#/base/assert.ts'
import { Queue } from '#/base/queue.ts'
import { prefixEnd } from '#/base/key-path.ts'
import { SortedMap } from '#/base/sorted-map.ts'
import { StoreError } from '../store.ts'
import type { Version } from './version.ts'

export interface Page {
  readonly versions: readonly Version[]
  /** Number of keys after this page. */
  readonly remaining: number
}

export interface PageOptions {
  readonly prefix: string
  readonly after?: string
  readonly limit?: number
  readonly revision?: number
}

export interface Events {
  readonly versions: readonly Version[]
  /** Events up to this revision have been considered. */
  readonly reached: number
}

export class History {
  /** The newest version of each existing key. */
  readonly #live = new SortedMap<Version>()
  /** The deletion version of each deleted key until it is trimmed. */
  readonly #deleted = new SortedMap<Version>()
  /** All versions after `#trimmed`, ordered by revision without gaps. */
  readonly #log = new Queue<Version>()
  #revision: number
  #compacted: number
  /** All compacted versions up to this revision have been freed; follows `#compacted` in small steps. */
  #trimmed: number

  /** `compacted` is the compacted revision of the loaded store. */
  constructor(compacted = 0) {
    this.#compacted = compacted
    this.#trimmed = Math.max(compacted, firstRevision)
    this.#revision = this.#trimmed
  }

  get revision(): number {
    return this.#revision
  }

  get compacted(): number {
    return this.#compacted
  }

  get keyCount(): number {
    return this.#live.size
  }

  /** Undefined when the key does not exist. */
  newest(key: string): Version | undefined {
    return this.#live.get(key)
  }

  /** The version of a key as of a revision; undefined when it did not exist then. */
  at(key: string, revision: number): Version | undefined {
    this.#assertReadable(revision)
    const newest = this.#live.get(key) ?? this.#deleted.get(key)
    return newest && versionAt(newest, revision)
  }

  /** The version of a key that was written at a revision; undefined when it was trimmed. */
  find(key: string, revision: number): Version | undefined {
    const newest = this.#live.get(key) ?? this.#deleted.get(key)
    if (newest === undefined || newest.revision === revision) return newest
    const version = lastAtOrBefore(newest.older, revision)
    return version?.revision === revision ? version : undefined
  }

  list(options: PageOptions): Page {
    const { prefix, limit = Infinity, revision = this.#revision } = options
    this.#assertReadable(revision)
    const start = options.after === undefined ? prefix : `${options.after}\0`
    assert(prefix.endsWith('/'), `prefix ${prefix} ends with a slash`)
    const end = prefixEnd(prefix)
    const versions: Version[] = []
    const candidates = revision === this.#revision ? this.#live.valuesFrom(start) : this.#merged(start, end)
    let more = false
    for (const newest of candidates) {
      if (newest.key >= end) break
      const version = versionAt(newest, revision)
      if (version === undefined) continue
      if (versions.length === limit) {
        more = true
        break
      }
      versions.push(version)
    }
    const last = versions.at(-1)
    return { versions, remaining: more && last ? this.#countBetween(last.key, end, revision) : 0 }
  }

  /** Adds the next write. */
  append(version: Version): void {
    assert(version.revision === this.#revision + 1, `revision ${version.revision} follows ${this.#revision}`)
    this.#place(version)
    this.#log.push(version)
    this.#revision = version.revision
  }

  /**
   * Loads the versions of an existing store, ordered by revision. Returns the compacted ones, which are not
   * needed any more.
   */
  load(versions: Iterable<Version>): Version[] {
    const garbage: Version[] = []
    for (const version of versions) {
      if (version.revision > this.#compacted) {
        this.append(version)
        continue
      }
      const before = this.#live.get(version.key)
      if (before) garbage.push(before)
      if (version.isDeletion) {
        garbage.push(version)
        this.#live.delete(version.key)
      } else {
        this.#live.set(version.key, version)
      }
    }
    return garbage
  }

  /** Returns at most `limit` versions of matching keys after a revision. */
  eventsAfter(revision: number, matches: (key: string) => boolean, limit: number): Events {
    if (revision < this.#compacted) throw compactedError(revision, this.#compacted)
    const versions: Version[] = []
    let index = Math.max(0, revision - this.#trimmed)
    while (index < this.#log.length && versions.length < limit) {
      const version = this.#log.at(index++)!
      if (matches(version.key)) versions.push(version)
    }
    return { versions, reached: Math.max(revision, this.#trimmed + index) }
  }

  /** Makes states before this revision unreadable. `trim` frees them. */
  compact(revision: number): void {
    if (revision > this.#revision) throw futureError(revision, this.#revision)
    this.#compacted = Math.max(this.#compacted, revision)
  }

  /** Frees some versions compacted at or before a revision and returns them; undefined when there are none left. */
  trim(compacted: number, eventsMax: number): Version[] | undefined {
    const count = Math.min(compacted - this.#trimmed, eventsMax)
    if (count <= 0) return undefined
    const until = this.#trimmed + count
    const garbage: Version[] = []
    const keys = new Set(this.#log.take(count).map(version => version.key))
    for (const key of keys) this.#trimKey(key, until, garbage)
    this.#trimmed = until
    return garbage
  }

  #trimKey(key: string, until: number, garbage: Version[]): void {
    const newest = this.#live.get(key) ?? this.#deleted.get(key)
    if (newest === undefined) return
    const { older } = newest
    if (older) {
      let count = 0
      while (count < older.length && (older[count + 1] ?? newest).revision <= until) count++
      garbage.push(...older.splice(0, count))
      if (older[0] && older[0].isDeletion && older[0].revision <= until) garbage.push(older.shift()!)
      if (older.length === 0) newest.older = undefined
    }
    if (newest.isDeletion && newest.revision <= until) {
      garbage.push(newest)
      this.#deleted.delete(key)
    }
  }

  #place(version: Version): void {
    const before = this.#live.get(version.key) ?? this.#deleted.get(version.key)
    if (before) {
      version.older = before.older ?? []
      version.older.push(before)
      before.older = undefined
    }
    if (version.isDeletion) {
      this.#live.delete(version.key)
      this.#deleted.set(version.key, version)
    } else {
      if (before && before.isDeletion) this.#deleted.delete(version.key)
      this.#live.set(version.key, version)
    }
  }

  /** Live and deleted keys, in key order. */
  *#merged(start: string, end: string): Generator<Version, void, undefined> {
    const live = this.#live.valuesFrom(start)
    const deleted = this.#deleted.valuesFrom(start)
    let left = live.next()
    let right = deleted.next()
    while (!left.done || !right.done) {
      if (right.done || (!left.done && left.value.key < right.value.key)) {
        if (left.value!.key >= end) return
        yield left.value!
        left = live.next()
      } else {
        if (right.value.key >= end) return
        yield right.value
        right = deleted.next()
      }
    }
  }

  /**
   * The number of keys in a range that existed at a revision: the current number, corrected by later
   * creations and deletions.
   */
  #countBetween(after: string, end: string, revision: number): number {
    let count = this.#live.rank(end) - this.#live.rank(`${after}\0`)
    for (let index = Math.max(0, revision - this.#trimmed); index < this.#log.length; index++) {
      const { key, createRevision, revision: at, isDeletion } = this.#log.at(index)!
      if (createRevision !== at && !isDeletion) continue
      if (key > after && key < end) count += isDeletion ? 1 : -1
    }
    return count
  }

  #assertReadable(revision: number): void {
    if (revision > this.#revision) throw futureError(revision, this.#revision)
    if (revision < this.#compacted) throw compactedError(revision, this.#compacted)
  }
}

/** An empty store is at revision 1, as etcd is, so that an empty list has a revision to watch from. */
const firstRevision = 1

function versionAt(newest: Version, revision: number): Version | undefined {
  const version = newest.revision <= revision ? newest : lastAtOrBefore(newest.older, revision)
  return version === undefined || version.isDeletion ? undefined : version
}

function lastAtOrBefore(versions: readonly Version[] | undefined, revision: number): Version | undefined {
  if (versions === undefined) return undefined
  let low = 0
  let high = versions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (versions[middle]!.revision <= revision) low = middle + 1
    else high = middle
  }
  return versions[low - 1]
}

function compactedError(revision: number, compacted: number): StoreError {
  return new StoreError('compacted', `revision ${revision} has been compacted: the oldest is ${compacted}`)
}

function futureError(revision: number, newest: number): StoreError {
  return new StoreError('future-revision', `revision ${revision} is not written yet: the newest is ${newest}`)
}
