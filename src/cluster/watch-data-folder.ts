/**
 * Notices that the data folder of a running cluster was deleted or taken over. The files of the store stay open and
 * accept writes then, so that no write fails, but everything would be lost at the end of the process.
 */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import { readLockHolder } from './lock-folder.ts'

export interface DataFolder {
  readonly platform: Platform
  readonly folder: string
  /** The process that holds the lock of the folder. */
  readonly pid: number
}

const checkPeriodMs = 5_000

export interface FolderLoss {
  readonly message: string
  /** Another process uses the folder. */
  readonly isTakenOver: boolean
}

/** Resolves when the folder is lost, or with undefined when aborted. */
export async function watchDataFolder(
  { platform, folder, pid }: DataFolder,
  signal: AbortSignal,
): Promise<FolderLoss | undefined> {
  while (!signal.aborted) {
    await platform.clock.sleep(checkPeriodMs, signal).catch(() => undefined)
    if (signal.aborted) return undefined
    const deleted = `the data folder ${folder} was deleted`
    // Without an answer the process is busy, or the socket was removed by itself.
    const holder = await readLockHolder(platform, folder).catch(() => undefined)
    if (holder !== undefined && holder.pid !== pid) {
      const message = `${deleted}, and is in use by process ${holder.pid} now`
      return { message, isTakenOver: true }
    }
    if (await isMissing(platform, folder)) return { message: deleted, isTakenOver: false }
  }
  return undefined
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
