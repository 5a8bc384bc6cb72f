import { openForWriting } from './database.ts'

/** Marks everything in a closed database as compacted, up to a revision that is `gap` after its last one. */
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
