/**
 * Notices that the data folder of a running cluster was deleted or taken over. The files of the store stay open and
 * accept writes then, so that no write fails, but everything would be lost at the end of the process.
 */
import { join } from 'node:path'
import { LinkedAbort } from '#/base/abort.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { readLockHolder } from './lock-folder.ts'

export interface DataFolder {
  readonly platform: Platform
  readonly linux: { readonly files: Pick<Linux['files'], 'watch'> }
  readonly folder: string
  /** The process that holds the lock of the folder. */
  readonly pid: number
}

/** Period of checks where the folder cannot be watched: at the machine's limit of watches, for example. */
const checkPeriodMs = 5_000

export interface FolderLoss {
  readonly message: string
  /** Another process uses the folder. */
  readonly isTakenOver: boolean
}

/** Resolves when the folder is lost, or with undefined when aborted. */
export async function watchDataFolder(
  options: DataFolder,
  signal: AbortSignal,
): Promise<FolderLoss | undefined> {
  const { platform, linux, folder } = options
  using abort = new LinkedAbort(signal)
  try {
    // A deletion begins with entries of the folder itself, and so does its use by another process.
    const loss = await firstLoss(options, linux.files.watch(folder, abort.signal))
    if (loss !== undefined || signal.aborted) return loss
  } catch (error) {
    platform.log.warn('Failed to watch the data folder, checking it periodically', { folder, error })
  } finally {
    abort.abort(new Error('the data folder is not watched any more'))
  }
  return await firstLoss(options, periods(platform, signal))
}

/** Undefined when the changes end. */
async function firstLoss(
  options: DataFolder,
  changes: AsyncIterable<unknown>,
): Promise<FolderLoss | undefined> {
  const reader = changes[Symbol.asyncIterator]()
  for (;;) {
    // The watch begins with the first read, and before the check, so that no change is missed.
    const change = reader.next()
    change.catch(() => undefined)
    const loss = await findLoss(options)
    if (loss !== undefined || (await change).done === true) return loss
  }
}

async function* periods({ clock }: Platform, signal: AbortSignal): AsyncGenerator<void> {
  while (!signal.aborted) {
    await clock.sleep(checkPeriodMs, signal).catch(() => undefined)
    yield
  }
}

async function findLoss({ platform, folder, pid }: DataFolder): Promise<FolderLoss | undefined> {
  const deleted = `the data folder ${folder} was deleted`
  // Without an answer the process is busy, or the socket was removed by itself.
  const holder = await readLockHolder(platform, folder).catch(() => undefined)
  if (holder !== undefined && holder.pid !== pid) {
    const message = `${deleted}, and is in use by process ${holder.pid} now`
    return { message, isTakenOver: true }
  }
  return (await isMissing(platform, folder)) ? { message: deleted, isTakenOver: false } : undefined
}

/** A deletion may leave the folder itself, when files are created in it at the same time. */
async function isMissing({ files }: Platform, folder: string): Promise<boolean> {
  try {
    return (await files.stat(join(folder, 'pki'))) === undefined
  } catch {
    // The file system does not answer, which is not a deletion.
    return false
  }
}
