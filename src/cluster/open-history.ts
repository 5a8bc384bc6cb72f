/** The log of the history of objects: in the folder of the cluster, or in memory beside a memory store. */
import { join } from 'node:path'
import type { HistoryLimits } from '#/apiserver/settings.ts'
import { messageOf } from '#/base/message-of.ts'
import { openHistoryLog, type HistoryLog } from '#/history/history-log.ts'
import type { Platform } from '#/platform/platform.ts'
import type { LockHolder } from './lock-folder.ts'
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
): Promise<OpenedHistory> {
  const place = given ?? (store.type === 'memory' ? undefined : join(folder, 'history'))
  const inMemory = { platform, folder: undefined, maxAgeMs, maxBytes: Math.min(maxBytes, memoryBytesMax) }
  if (place === undefined) return opened(await openHistoryLog(inMemory))
  try {
    await platform.files.makeFolder(place, { mode: 0o700 })
    return opened(await openHistoryLog({ platform, folder: place, maxAgeMs, maxBytes }))
  } catch (error) {
    // A cluster works without its history, and the folder of a static pod may be read-only.
    platform.log.warn('Failed to open the history of objects, which is kept in memory', {
      folder: place,
      error,
    })
    return opened(await openHistoryLog(inMemory), `${place}: ${messageOf(error)}`)
  }
}

export interface OpenedHistory {
  readonly log: HistoryLog
  readonly holderState: Pick<LockHolder, 'history'>
}

function opened(log: HistoryLog, fallback?: string): OpenedHistory {
  return {
    log,
    get holderState() {
      return { history: { ...log.status, ...(fallback !== undefined && { fallback }) } }
    },
  }
}

const memoryBytesMax = 32 * 1024 ** 2
