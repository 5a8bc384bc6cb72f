import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const attemptsMax = 100
const attemptMs = 50

/** Removes a control group with those in it. A group is busy for a moment after its last process has ended. */
export async function removeCgroup(folder: string): Promise<void> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(folder, entry.name))
    for (let attempt = 1; !(await isRemoved(folder)); attempt++) {
      if (attempt >= attemptsMax) throw new Error(`the control group ${folder} remains busy`)
      await sleep(attemptMs)
    }
  } catch (error) {
    // ENOTDIR: with cgroup v2 a hierarchy has files where others have controllers.
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ENOENT', 'ENOTDIR'].includes(code)) throw error
  }
}

/** False while the group is busy. */
async function isRemoved(folder: string): Promise<boolean> {
  try {
    await rmdir(folder)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBUSY') return false
    throw error
  }
}
