import type { Entry, StoreEvent } from '../store.ts'

/** The result of one write to one key: the unit of history, journal and watch events. */
export interface Version {
  readonly key: string
  readonly revision: number
  /** The revision at which the key was last created; for a deletion, that of the deleted entry. */
  readonly createRevision: number
  readonly isDeletion: boolean
  /** Undefined for a deletion, and for a value that is only in the journal. */
  value: Uint8Array | undefined
  /** Undefined without one, and for one that is only in the journal. */
  note: Uint8Array | undefined
  /** Wall time at which the key expires; 0 for never. */
  readonly expiresMs: number
  /** Older versions, oldest first. Set only on the newest version of a key. */
  older: Version[] | undefined
  /** The place of the record in the journal, and its size; 0 without a journal. */
  location: number
  sizeBytes: number
}

/** What only the journal has of a version that is not recent. */
export interface VersionContent {
  /** Undefined for a deletion. */
  readonly value: Uint8Array | undefined
  readonly note: Uint8Array | undefined
}

export type ReadContent = (version: Version) => VersionContent

export function toEntry(version: Version, read: ReadContent): Entry {
  const { key, revision, createRevision } = version
  return { key, value: version.value ?? read(version).value!, revision, createRevision }
}

export function toEvent(version: Version, read: ReadContent): StoreEvent {
  const { key, revision, createRevision, isDeletion } = version
  const { value, note } = version.value || version.note ? version : read(version)
  const event: StoreEvent = isDeletion
    ? { type: 'delete', key, revision }
    : { type: 'put', key, value: value!, revision, createRevision }
  return note ? { ...event, note } : event
}
