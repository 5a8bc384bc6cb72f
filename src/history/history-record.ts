/** Types of the object history: versions of objects beyond those that the store keeps. */

/** A write as it is recorded. */
export interface HistoryRecord {
  readonly revision: number
  /** Wall time at which the write became visible to the API server; the log keeps whole milliseconds. */
  readonly timeMs: number
  /** The store key: `/registry/pods/default/web-0`. */
  readonly key: string
  readonly type: RecordType
  /** The stored JSON, encrypted as in the store; of a deletion the last one. */
  readonly value: Uint8Array
  /** Of the object, so that it can be read without the value; ASCII, empty if unknown. */
  readonly uid: string
  /** The encoded origin (`api/origin.ts`), which may be absent. */
  readonly origin: Uint8Array | undefined
}

export type RecordType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** A record to append, with the version that it replaces. The log copies all bytes. */
export interface NewRecord extends HistoryRecord {
  /**
   * Recorded before the first change of the key in a segment, so that the state at any retained revision can
   * be read although the key did not change since; otherwise not read, so it may be computed by a getter.
   * Absent for a creation.
   */
  readonly previous: PreviousVersion | undefined
}

export interface PreviousVersion {
  readonly revision: number
  readonly value: Uint8Array
}

/** The state of a key at a revision. */
export type StateAt =
  | { readonly type: 'version'; readonly revision: number; readonly value: Uint8Array }
  /** The key did not exist. */
  | { readonly type: 'absent' }
  /**
   * No retained record is about this key: it is what it is now, if its revision is at or before the one asked
   * for.
   */
  | { readonly type: 'unchanged' }
  /** The revision is before the retained time, which may have advanced since it was asked for. */
  | { readonly type: 'expired' }

/** A record of a range; the value only if asked for. */
export type RangeRecord = Omit<HistoryRecord, 'value'> & { readonly value: Uint8Array | undefined }
