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
  /** Wall time at which the key expires; 0 for never. */
  readonly expiresMs: number
  /** Older versions, oldest first. Set only on the newest version of a key. */
  older: Version[] | undefined
  /** The place of the record in the journal, and its size; 0 without a journal. */
  location: number
  sizeBytes: number
}

/** Reads a value that is not in memory. */
export type ReadValue = (version: Version) => Uint8Array

export function toEntry(version: Version, readValue: ReadValue): Entry {
  const { key, revision, createRevision } = version
  return { key, value: version.value ?? readValue(version), revision, createRevision }
}

export function toEvent(version: Version, readValue: ReadValue): StoreEvent {
  if (version.isDeletion) return { type: 'delete', key: version.key, revision: version.revision }
  return { type: 'put', ...toEntry(version, readValue) }
}
