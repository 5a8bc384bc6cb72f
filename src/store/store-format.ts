/** The formats of the embedded store: 1 is an SQLite database, 2 the log. */
import type { Platform } from '#/platform/platform.ts'
import { hasFormat1, migrateFormat1 } from './embedded/format-1.ts'
import { markPaths, type StorePlace } from './embedded/mark.ts'
import { lockStore } from './embedded/replace-store.ts'
import { defaultSegmentBytesMax } from './embedded/write-log.ts'

export { hasFormat1 }

/**
 * Turns the database of format 1 into a log with the same revisions. A migration that was interrupted begins again.
 * Rejects when another process uses the store.
 */
export async function migrateToFormat2(platform: Platform, place: StorePlace): Promise<void> {
  await using _ = await lockStore(platform, place)
  const { folder } = place
  const segmentBytesMax = defaultSegmentBytesMax
  await migrateFormat1({ platform, folder, marks: markPaths(place), segmentBytesMax })
}
