import type { Version } from './version.ts'

/** Where a local store keeps its versions beyond the life of the process. One call at a time. */
export interface Journal {
  /**
   * Resolves when the versions would survive a crash: all of them. Rejects with JournalFullError when none of them
   * is there; with any other error nobody knows which.
   */
  append(versions: readonly Version[]): Promise<void>
  /** The value of a put that has been appended and not forgotten. */
  readValue(revision: number): Uint8Array
  /**
   * Notes how far the store is compacted, and forgets the versions with these revisions. JournalFullError when
   * nothing of that has happened.
   */
  forget(compacted: number, revisions: readonly number[]): Promise<void>
  close(): Promise<void>
}

/** There is no room on the disk. What was to be done was not done, and may be tried again. */
export class JournalFullError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JournalFullError'
  }
}
