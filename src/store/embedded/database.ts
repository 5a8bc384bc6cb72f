/** The database file of the embedded store: its schema, and how it is opened. */
import { DatabaseSync } from 'node:sqlite'

/**
 * Versions and values are separate tables, so that startup reads only the first. The revision is the key of
 * both: they grow at the end, and compaction frees whole pages at the beginning.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS version (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    create_revision INTEGER NOT NULL,
    expires_ms REAL NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS value (revision INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO meta VALUES ('format', 1), ('compacted', 0);
`

const formatSupported = 1

export function openForWriting(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 })
  database.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}; PRAGMA journal_size_limit = ${logBytesKept}`)
  database.exec(`BEGIN; ${tables} COMMIT`)
  const format = readMeta(database, 'format')
  if (format === formatSupported) return database
  database.close()
  throw new Error(`${path} has format ${format}, this version reads format ${formatSupported}`)
}

export function openForReading(path: string): DatabaseSync {
  return new DatabaseSync(path, { readOnly: true, timeout: 1_000 })
}

export function readMeta(database: DatabaseSync, name: 'format' | 'compacted'): number {
  const row = database.prepare('SELECT value FROM meta WHERE name = ?').get(name)
  return Number(row?.['value'] ?? 0)
}

/** Pages in the write-ahead log before a checkpoint, which delays one commit. */
const checkpointPages = 1_000

/** Size of the write-ahead log that is kept after a burst. */
const logBytesKept = 8 * 1024 * 1024
