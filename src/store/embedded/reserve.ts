/**
 * Disk space reserved in the database files. When other programs have filled the disk, this much can still be
 * written, e.g. the node's DiskPressure condition and the deletions of pods that free space.
 */
import type { DatabaseSync } from 'node:sqlite'

/** For the write-ahead log and the database each: the amount written between two checkpoints. */
const reserveBytes = 4 * 1024 * 1024

const pageBytes = 4_096

export const reservePages = reserveBytes / pageBytes

/** Both files keep the space of deleted data. Versions never have the revision -1. */
export function reserveSpace(database: DatabaseSync): void {
  const forget = 'DELETE FROM value WHERE revision = -1'
  database.exec(forget)
  database.exec(`INSERT INTO value VALUES (-1, zeroblob(${reserveBytes}))`)
  database.exec(forget)
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
}
