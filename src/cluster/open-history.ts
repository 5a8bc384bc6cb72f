/** The log of the history of objects: in the folder of the cluster, or in memory beside a memory store. */
import { join } from 'node:path'
import type { HistoryLimits } from '#/apiserver/settings.ts'
import { openHistoryLog, type HistoryLog } from '#/history/history-log.ts'
import type { Platform } from '#/platform/platform.ts'
import type { StoreSettings } from './open-store.ts'

export interface OpenHistoryOptions {
  readonly platform: Platform
  /** Folder of the cluster. */
  readonly folder: string
  readonly store: StoreSettings
}

export async function openHistory(
  { maxAgeMs, maxBytes, folder: given }: HistoryLimits,
  { platform, folder, store }: OpenHistoryOptions,
): Promise<HistoryLog> {
  const place = given ?? (store.type === 'memory' ? undefined : join(folder, 'history'))
  const inMemory = { platform, folder: undefined, maxAgeMs, maxBytes: Math.min(maxBytes, memoryBytesMax) }
  if (place === undefined) return openHistoryLog(inMemory)
  try {
    await platform.files.makeFolder(place, { mode: 0o700 })
    return await openHistoryLog({ platform, folder: place, maxAgeMs, maxBytes })
  } catch (error) {
    // A cluster works without its history, and the folder of a static pod may be read-only.
    platform.log.warn('Failed to open the history of objects, which is kept in memory', {
      folder: place,
      error,
    })
    return openHistoryLog(inMemory)
  }
}

const memoryBytesMax = 32 * 1024 ** 2
