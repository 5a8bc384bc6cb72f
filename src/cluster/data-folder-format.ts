/**
 * The format of a data folder as a whole: store, keys, node folders, records of nodes and host processes. A newer k8ts
 * migrates what an older one wrote, an older one refuses what it cannot read.
 *
 * Every change after which an older k8ts would misread the folder gets a new format here, and a migration of which
 * each step can be interrupted and repeated. `format.json` is written after the steps, so that a migration that was
 * killed begins again. Folders of formats 1 and 2 have no such file.
 */
import { join } from 'node:path'
import type { Files, Listener, Platform } from '#/platform/platform.ts'
import { hasFormat1, migrateToFormat2 } from '#/store/store-format.ts'
import { lockFolder, type LockHolder } from './lock-folder.ts'
import { embeddedStorePlace } from './open-store.ts'

/**
 * 1: the store is an SQLite database. 2: it is a log. 3: `format.json` has the format. 4: writes in the log may have a
 * note.
 */
export const dataFolderFormat = 4

export interface DataFolderRecord {
  readonly format: number
  /** Version of the k8ts that opened the folder last. */
  readonly k8ts: string
}

interface DataFolderFacts {
  /** Of `format.json`; undefined without the file. */
  readonly record: DataFolderRecord | undefined
  readonly isStoreDatabase: boolean
}

export type MigrationStep =
  | { readonly type: 'migrate-store' }
  | { readonly type: 'write-record'; readonly record: DataFolderRecord }

export type MigrationPlan =
  | { readonly type: 'migrate'; readonly steps: readonly MigrationStep[] }
  | { readonly type: 'refuse'; readonly record: DataFolderRecord }

/** `version` is that of this k8ts. */
export function planMigration({ record, isStoreDatabase }: DataFolderFacts, version: string): MigrationPlan {
  if (record !== undefined && record.format > dataFolderFormat) return { type: 'refuse', record }
  const isCurrent = record?.format === dataFolderFormat && record.k8ts === version
  const current = { format: dataFolderFormat, k8ts: version }
  return {
    type: 'migrate',
    steps: [
      ...(isStoreDatabase ? [{ type: 'migrate-store' } as const] : []),
      ...(isCurrent ? [] : [{ type: 'write-record', record: current } as const]),
    ],
  }
}

export interface OpenDataFolderOptions {
  readonly platform: Platform
  readonly folder: string
  /** Of this k8ts. */
  readonly version: string
}

/** Locks the folder as `lockFolder` does, and brings it to the current format. Rejects when that is an older one. */
export async function openDataFolder(
  options: OpenDataFolderOptions,
  describe: () => LockHolder,
): Promise<Listener> {
  const { platform, folder, version } = options
  await using locked = new AsyncDisposableStack()
  const lock = locked.use(await lockFolder(platform, folder, describe))
  const plan = planMigration(await readFacts(platform.files, folder), version)
  if (plan.type === 'refuse') throw refusal(options, plan.record)
  for (const step of plan.steps) await perform(options, step)
  locked.move()
  return lock
}

/** Rejects when the folder was written by a later k8ts whose format this one cannot read. */
export async function requireReadableFormat(options: OpenDataFolderOptions): Promise<void> {
  const { platform, folder, version } = options
  const plan = planMigration(await readFacts(platform.files, folder), version)
  if (plan.type === 'refuse') throw refusal(options, plan.record)
}

export async function readDataFolderRecord(
  files: Pick<Files, 'stat' | 'read'>,
  folder: string,
): Promise<DataFolderRecord | undefined> {
  const path = recordPath(folder)
  if ((await files.stat(path)) === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(await files.read(path)).toString()) as DataFolderRecord
  } catch (cause) {
    throw new Error(`cannot read the format of the data folder from ${path}`, { cause })
  }
}

async function readFacts(files: Files, folder: string): Promise<DataFolderFacts> {
  const place = embeddedStorePlace(folder)
  return {
    record: await readDataFolderRecord(files, folder),
    isStoreDatabase: await hasFormat1(files, place.folder),
  }
}

function refusal({ folder, version }: OpenDataFolderOptions, { format, k8ts }: DataFolderRecord): Error {
  return new Error(
    `${folder} has data format ${format} of k8ts ${k8ts}, and k8ts ${version} reads up to format ` +
      `${dataFolderFormat}: run k8ts ${k8ts} or newer, or restore a snapshot into another --data-dir`,
  )
}

async function perform({ platform, folder }: OpenDataFolderOptions, step: MigrationStep): Promise<void> {
  switch (step.type) {
    case 'migrate-store':
      return migrateToFormat2(platform, embeddedStorePlace(folder))
    case 'write-record':
      return platform.files.write(recordPath(folder), `${JSON.stringify(step.record)}\n`, { mode: 0o600 })
  }
}

function recordPath(folder: string): string {
  return join(folder, 'format.json')
}
