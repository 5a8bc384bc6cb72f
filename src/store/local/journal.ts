import type { Version } from './version.ts'

/** Persistent storage for the versions of a local store. One call at a time. */
export interface Journal {
  /**
   * Resolves when all versions are durable. Rejects with JournalFullError when none was written; with any
   * other error the outcome is unknown.
   */
  append(versions: readonly Version[]): Promise<void>
  /** The value of a put that has been appended and not pruned. StoreError `damaged` when it cannot be trusted. */
  readValue(version: Version): Uint8Array
  /**
   * Records the compacted revision and that these versions are not needed any more. Rejects with
   * JournalFullError when nothing was changed.
   */
  prune(compacted: number, garbage: readonly Version[]): Promise<void>
  close(): Promise<void>
}

/** The disk is full. The operation had no effect and may be retried. */
export class JournalFullError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JournalFullError'
  }
}
