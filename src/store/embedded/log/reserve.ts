/**
 * Room that the files of the database have of their own. When somebody else has filled the disk, so much can still be
 * written: that the node is under pressure, say, and that pods are deleted, which makes room.
 */
import type { DatabaseSync } from 'node:sqlite'

/** In the write-ahead log and in the database each: what is written between two checkpoints. */
const reserveBytes = 4 * 1024 * 1024

const pageBytes = 4_096

export const reservePages = reserveBytes / pageBytes

/** Both files keep the room of what was once in them. The revision is none that a version can have. */
export function reserveRoom(database: DatabaseSync): void {
  const forget = 'DELETE FROM value WHERE revision = -1'
  database.exec(forget)
  database.exec(`INSERT INTO value VALUES (-1, zeroblob(${reserveBytes}))`)
  database.exec(forget)
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
}
