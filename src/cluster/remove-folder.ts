/** Removes the data folder of a cluster or of a host. */
import { join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'

/** A folder that is a mount point is emptied but kept. */
export async function removeFolder({ files }: Platform, folder: string): Promise<void> {
  if ((await files.stat(folder)) === undefined) return
  for (const name of await files.list(folder)) await files.remove(join(folder, name))
  try {
    await files.remove(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
  }
}
