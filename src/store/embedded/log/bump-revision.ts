import { openForWriting } from './database.ts'

/** Declares everything in a closed database compacted, up to a revision this far beyond its last. */
export function bumpRevision(path: string, gap: number): void {
  const database = openForWriting(path)
  database.exec(`
    UPDATE meta
    SET value = ${gap} + max(value, (SELECT coalesce(max(revision), 0) FROM version))
    WHERE name = 'compacted';
    PRAGMA wal_checkpoint(TRUNCATE)
  `)
  database.close()
}
