/**
 * Snapshots of a store: one file, or a folder with hard links to the segments of an embedded store, as the schedule
 * makes them. Both have the objects at one revision and are verified when they are read.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import { ContentHasher, type ContentHash, type StoreContent } from './content.ts'
import { SnapshotDamagedError, StoreDamagedError } from './embedded/damage.ts'
import { assertCurrentFormat, LogView } from './embedded/log-view.ts'
import { decodeMarks, markPaths, readMark, type StorePlace } from './embedded/mark.ts'
import { lockStore, replaceStore, revisionAfter, type ReplacedStore } from './embedded/replace-store.ts'
import { rangeOf } from './embedded/segment-header.ts'
import { SnapshotFile, writeSnapshotFile } from './embedded/snapshot-file.ts'

export { describeDamage, SnapshotDamagedError } from './embedded/damage.ts'
export type { StorePlace } from './embedded/mark.ts'
export { timeName } from './embedded/replace-store.ts'

export interface SavedSnapshot extends ContentHash {
  readonly revision: number
  readonly sizeBytes: number
}

/** Rejects when the file exists. */
export async function saveSnapshot(
  { files, clock }: Pick<Platform, 'files' | 'clock'>,
  content: StoreContent,
  path: string,
): Promise<SavedSnapshot> {
  const hasher = new ContentHasher()
  const { storeId, revision } = content
  const entries = hasher.passing(content.entries())
  await writeSnapshotFile({ files, clock, path, storeId, revision, entries })
  return { ...hasher.finish(), revision, sizeBytes: (await files.stat(path))?.sizeBytes ?? 0 }
}

/**
 * The content of an embedded store, which may be in use by another process. Rejects with StoreDamagedError when it is
 * not what was acknowledged.
 */
export async function openEmbeddedContent(platform: Platform, place: StorePlace): Promise<StoreContent> {
  await using resources = new AsyncDisposableStack()
  const view = resources.use(await LogView.openStore(platform, place))
  if (view.log.damages.length > 0) throw new StoreDamagedError(place.folder, view.log.damages)
  if (view.log.storeId === undefined)
    throw new Error(`there is no store in ${place.folder}: check --data-dir, and --store if it is in etcd`)
  resources.move()
  return view
}

export interface Snapshot {
  readonly path: string
  readonly revision: number
  readonly savedMs: number
  readonly sizeBytes: number
}

/** Rejects with SnapshotDamagedError. Segments of a folder are verified at once, a file while it is read. */
export async function openSnapshot(
  { files, clock }: Pick<Platform, 'files' | 'clock'>,
  path: string,
): Promise<StoreContent> {
  const status = await files.stat(path)
  if (status === undefined)
    throw new Error(`there is no snapshot ${path}: k8ts snapshot ls shows those of a cluster`)
  if (!status.isFolder) return SnapshotFile.open(files, path)
  await using resources = new AsyncDisposableStack()
  const view = resources.use(await LogView.open({ files, clock, folder: path, marks: [join(path, 'mark')] }))
  const [damage] = view.log.damages
  if (damage) throw new SnapshotDamagedError(path, `${damage.file}: ${damage.reason}`, damage.positionBytes)
  if (view.log.storeId === undefined) throw new SnapshotDamagedError(path, 'the folder has no snapshot')
  resources.move()
  return view
}

/** Reads the beginning only; undefined when it is no snapshot. */
export async function describeSnapshot(
  { files }: Pick<Platform, 'files'>,
  path: string,
): Promise<Snapshot | undefined> {
  const status = await files.stat(path)
  if (status === undefined) return undefined
  if (!status.isFolder) {
    try {
      await using file = await SnapshotFile.open(files, path)
      const { revision, savedMs, sizeBytes } = file
      return { path, revision, savedMs, sizeBytes }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== undefined) throw error
      return undefined
    }
  }
  const written = await files.stat(join(path, 'mark'))
  const mark = written && decodeMarks(await files.read(join(path, 'mark')))
  if (written === undefined || mark === undefined) return undefined
  const names = (await files.list(path)).filter(name => rangeOf(name))
  const sizes = await Promise.all(names.map(name => files.stat(join(path, name))))
  const sizeBytes = sizes.reduce((sum, file) => sum + (file?.sizeBytes ?? 0), 0)
  return { path, revision: mark.revision, savedMs: written.modifiedMs, sizeBytes }
}

/** The snapshots in a folder, oldest first. */
export async function listSnapshots(platform: Pick<Platform, 'files'>, folder: string): Promise<Snapshot[]> {
  const { files } = platform
  const names = (await files.stat(folder)) ? await files.list(folder) : []
  const found = await Promise.all(
    names
      .filter(name => !name.endsWith('.partial'))
      .map(name => describeSnapshot(platform, join(folder, name))),
  )
  return found.filter(each => each !== undefined).sort((left, right) => left.savedMs - right.savedMs)
}

export interface RestoreOptions {
  readonly platform: Platform
  readonly snapshot: StoreContent
  readonly place: StorePlace
  /** Replaces a store that is healthy or another cluster's. */
  readonly force?: boolean
}

/** No process may use the store. The old files are kept under another name. */
export async function restoreSnapshot(options: RestoreOptions): Promise<ReplacedStore> {
  const { platform, snapshot, place, force = false } = options
  await using _ = await lockStore(platform, place)
  const mark = await readMark(platform.files, markPaths(place))
  if (!force) await assertReplaceable(options, mark?.storeId)
  const lastRevision = mark?.revision ?? (await salvagedRevision(platform, place))
  return await replaceStore({
    platform,
    place,
    storeId: snapshot.storeId,
    entries: snapshot.entries(),
    revision: revisionAfter(snapshot.revision, lastRevision),
    reason: 'replaced',
  })
}

/** The last revision that is left in the log: the snapshot may be older than an earlier jump of the revision. */
async function salvagedRevision({ files, clock }: Platform, place: StorePlace): Promise<number> {
  const { folder } = place
  await using view = await LogView.open({ files, clock, folder, marks: markPaths(place), salvages: true })
  return view.revision
}

async function assertReplaceable(
  { platform, snapshot, place }: RestoreOptions,
  storeId: string | undefined,
): Promise<void> {
  if (storeId !== undefined && storeId !== snapshot.storeId) {
    throw new Error(
      `the snapshot is of the store ${snapshot.storeId}, and that in ${place.folder} is ${storeId}: Secrets are ` +
        'readable only with the pki folder of the cluster that was saved; --force restores it nevertheless',
    )
  }
  const { files, clock } = platform
  const { folder } = place
  await assertCurrentFormat(files, folder)
  await using view = await LogView.open({ files, clock, folder, marks: markPaths(place) })
  if (view.log.storeId === undefined || view.log.damages.length > 0) return
  throw new Error(`the store in ${folder} is intact: --force replaces it, and keeps it under another name`)
}
