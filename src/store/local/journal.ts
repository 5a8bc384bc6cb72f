import type { Version } from './version.ts'

/** Where a local store keeps its versions beyond the life of the process. One call at a time. */
export interface Journal {
  /**
   * Resolves when the versions would survive a crash: all of them or, when it rejects, nobody knows which.
   */
  append(versions: readonly Version[]): Promise<void>
  /** The value of a put that has been appended and not forgotten. */
  readValue(revision: number): Uint8Array
  /** Notes how far the store is compacted, and forgets the versions with these revisions. */
  forget(compacted: number, revisions: readonly number[]): Promise<void>
  close(): Promise<void>
}
