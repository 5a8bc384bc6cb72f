import type { Version, VersionContent } from './version.ts'

/** Persistent storage for the versions of a local store. One call at a time. */
export interface Journal {
  /**
   * Resolves when all versions are durable. Rejects with JournalFullError when none was written; with any
   * other error the outcome is unknown.
   */
  append(versions: readonly Version[]): Promise<void>
  /** Of a version that has been appended and not discarded. StoreError `damaged` when it cannot be trusted. */
  readContent(version: Version): VersionContent
  /** Resolves when the compacted revision is durable. Rejects like `append`. */
  compact(revision: number): Promise<void>
  /** These versions are not in the history any more: the compacted revision that is durable excludes them. */
  discard(garbage: readonly Version[]): void
  close(): Promise<void>
}

/** The disk is full. The operation had no effect and may be retried. */
export class JournalFullError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JournalFullError'
  }
}
