import type { Entry, StoreEvent } from '../store.ts'

/** What one write made of one key: the unit of history, of the journal and of watching. */
export interface Version {
  readonly key: string
  readonly revision: number
  /** 0 marks a deletion. */
  readonly createRevision: number
  /** Undefined for a deletion, and for a value that is no longer in memory: the journal still has it. */
  value: Uint8Array | undefined
  /** Wall time at which the key removes itself; 0 for never. */
  readonly expiresMs: number
  /** The versions before this one, oldest first. Only the newest version of a key has them. */
  older: Version[] | undefined
}

export function isDeletion(version: Version): boolean {
  return version.createRevision === 0
}

/** Finds a version's value when it is not in memory. */
export type ReadValue = (version: Version) => Uint8Array

export function toEntry(version: Version, readValue: ReadValue): Entry {
  const { key, revision, createRevision } = version
  return { key, value: version.value ?? readValue(version), revision, createRevision }
}

export function toEvent(version: Version, readValue: ReadValue): StoreEvent {
  if (isDeletion(version)) return { type: 'delete', key: version.key, revision: version.revision }
  return { type: 'put', ...toEntry(version, readValue) }
}
