/**
 * Format 1 was an SQLite database in `store.db`. Its content becomes a log with all revisions; the database is kept
 * under another name.
 */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Files, Platform } from '#/platform/platform.ts'
import type { FrameRecord } from './frame.ts'
import { rangeOf } from './segment-header.ts'
import { writeLog } from './write-log.ts'

export interface MigrationOptions {
  readonly platform: Platform
  readonly folder: string
  readonly marks: readonly string[]
  readonly segmentBytesMax: number
}

export async function hasFormat1(files: Pick<Files, 'stat'>, folder: string): Promise<boolean> {
  return (await files.stat(join(folder, databaseName))) !== undefined
}

const databaseName = 'store.db'

/** Does nothing unless the folder has a store of format 1. A migration that was interrupted begins again. */
export async function migrateFormat1({
  platform,
  folder,
  marks,
  segmentBytesMax,
}: MigrationOptions): Promise<void> {
  const { files, clock, random, log } = platform
  if (!(await hasFormat1(files, folder))) return
  const path = join(folder, databaseName)
  for (const name of await files.list(folder)) if (rangeOf(name)) await files.remove(join(folder, name))
  const database = await openDatabase(path)
  try {
    const compacted = Number(
      database.prepare(`SELECT value FROM meta WHERE name = 'compacted'`).get()?.['value'],
    )
    const last = database.prepare('SELECT max(revision) AS revision FROM version').get()?.['revision']
    const revision = (): number => Math.max(Number(last ?? 0), compacted)
    const storeId = random.uuid('store id')
    const records = recordsIn(database, compacted)
    await writeLog({ files, clock, folder, marks, storeId, segmentBytesMax, records, revision })
    log.info('Migrated the store from format 1', { folder, revision: revision() })
  } finally {
    database.close()
  }
  await files.rename(path, `${path}.migrated`)
  for (const suffix of ['-wal', '-shm', '.lock']) await files.remove(path + suffix)
}

async function openDatabase(path: string): Promise<DatabaseSync> {
  // Loaded only here, since no other code needs it.
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    const check = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
    if (check !== 'ok') throw new Error(String(check))
    // Includes the write-ahead log in the file, which is kept.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE')
    return database
  } catch (cause) {
    database.close()
    throw new Error(`cannot open the store ${path}: ${(cause as Error).message}`, { cause })
  }
}

function* recordsIn(database: DatabaseSync, compacted: number): Generator<FrameRecord, void, undefined> {
  yield { type: 'compact', revision: compacted }
  const select = database.prepare(`
    SELECT revision, key, create_revision AS createRevision, expires_ms AS expiresMs, value
    FROM version LEFT JOIN value USING (revision) ORDER BY revision
  `)
  const createdAt = new Map<string, number>()
  for (const row of select.iterate() as Iterable<unknown>) {
    const { revision, key, createRevision, expiresMs, value } = row as Row
    const isDeletion = createRevision === 0
    const version = {
      key,
      revision,
      createRevision: isDeletion ? (createdAt.get(key) ?? 0) : createRevision,
      isDeletion,
      value: value ?? undefined,
      expiresMs,
      note: undefined,
      older: undefined,
      location: 0,
      sizeBytes: 0,
    }
    createdAt.set(key, version.createRevision)
    yield { type: isDeletion ? 'delete' : 'put', version }
  }
}

interface Row {
  readonly revision: number
  readonly key: string
  /** 0 for a deletion. */
  readonly createRevision: number
  readonly expiresMs: number
  readonly value: Uint8Array | null
}
