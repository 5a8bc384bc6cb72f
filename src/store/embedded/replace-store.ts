/** Writes the files of a store that is not in use, and keeps those that were there under another name. */
import { dirname, join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import { ContentHasher, hashContent, type ContentHash, type StoredEntry } from '../content.ts'
import type { FrameRecord } from './frame.ts'
import { LogView } from './log-view.ts'
import { markPaths, type StorePlace } from './mark.ts'
import { defaultSegmentBytesMax, toPutRecord, writeLog } from './write-log.ts'

export interface ReplaceStoreOptions {
  readonly platform: Platform
  readonly place: StorePlace
  readonly storeId: string
  readonly entries: AsyncIterable<StoredEntry>
  /** No watch can have seen it, so that every client lists again. */
  readonly revision: number
  /** The old files are kept as `store.REASON-TIME`. */
  readonly reason: 'replaced' | 'damaged'
}

export interface ReplacedStore extends ContentHash {
  readonly revision: number
  /** The folder with the old files, if there were any. */
  readonly keptIn: string | undefined
}

/**
 * The caller has locked the store. The old files stay in their place until the new ones are complete and were read
 * back. A crash between the two renames leaves a mark without a store, which is not opened.
 */
export async function replaceStore(options: ReplaceStoreOptions): Promise<ReplacedStore> {
  const { platform, place, storeId, revision } = options
  const { files, clock } = platform
  const { folder, markCopy } = place
  const added = `${folder}.new`
  const marks = markPaths({ folder: added })
  await files.remove(added)
  await files.makeFolder(added, { mode: 0o700 })
  await using lock = await files.lock(join(added, 'lock'))
  if (lock === undefined) throw new Error(`${added} is in use by another process`)
  const hasher = new ContentHasher()
  const records = recordsOf(revision, hasher.passing(options.entries))
  const segmentBytesMax = defaultSegmentBytesMax
  try {
    await writeLog({
      files,
      clock,
      folder: added,
      marks,
      storeId,
      segmentBytesMax,
      records,
      revision: () => revision,
    })
    await verify(platform, added, hasher.finish())
  } catch (error) {
    await files.remove(added)
    throw error
  }
  const keptIn = await putAside(platform, folder, options.reason)
  await files.rename(added, folder)
  if (markCopy !== undefined) {
    await files.makeFolder(dirname(markCopy), { mode: 0o700 })
    await files.write(markCopy, await files.read(join(folder, 'mark')), { mode: 0o600 })
  }
  return { ...hasher.finish(), revision, keptIn }
}

/** Rejects when another process uses the store. A store that does not exist needs no lock. */
export async function lockStore({ files }: Platform, { folder }: StorePlace): Promise<AsyncDisposable> {
  if ((await files.stat(folder)) === undefined) return new AsyncDisposableStack()
  const lock = await files.lock(join(folder, 'lock'))
  if (lock === undefined)
    throw new Error(`the store in ${folder} is in use by another process: stop it first`)
  return lock
}

/** A revision far after all that a client can have seen: writes that were lost cannot have reached it. */
export function revisionAfter(...revisions: readonly number[]): number {
  return Math.max(...revisions) + revisionsSkipped
}

const revisionsSkipped = 1_000_000_000

async function* recordsOf(
  revision: number,
  entries: AsyncIterable<StoredEntry>,
): AsyncGenerator<FrameRecord, void, undefined> {
  yield { type: 'jump', revision }
  for await (const entry of entries) yield toPutRecord(entry)
}

async function verify({ files, clock }: Platform, folder: string, expected: ContentHash): Promise<void> {
  await using view = await LogView.open({ files, clock, folder, marks: markPaths({ folder }) })
  const { hash } = await hashContent(view)
  if (view.log.damages.length > 0 || hash !== expected.hash)
    throw new Error(`the disk does not return what was written to ${folder}: use another one`)
}

async function putAside(
  { files, clock }: Platform,
  folder: string,
  reason: ReplaceStoreOptions['reason'],
): Promise<string | undefined> {
  const names = (await files.stat(folder)) ? await files.list(folder) : []
  if (names.every(name => name === 'lock')) {
    await files.remove(folder)
    return undefined
  }
  const kept = `${folder}.${reason}-${timeName(clock.now())}`
  let path = kept
  for (let number = 2; await files.stat(path); number++) path = `${kept}-${number}`
  await files.rename(folder, path)
  return path
}

/** A time as part of a file name: `20260131T235959Z`. */
export function timeName(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/[-:]|\.\d+/gu, '')
}
