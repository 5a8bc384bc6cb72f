import { dirname } from 'node:path'
import type { Platform } from '#/platform/platform.ts'

/** Time until a lock that another process holds is an error. It may be left from a process that was killed. */
const waitMsMax = 10_000

const retryMs = 20

/**
 * Creates `FILE.lock` for each file, as all programs do that change kubeconfigs, and waits while another process has
 * one. Disposal removes them. Throws Error if a lock is not released in time.
 */
export async function lockFiles(platform: Platform, paths: readonly string[]): Promise<AsyncDisposable> {
  const held: string[] = []
  const release = async (): Promise<void> => {
    for (const path of held.splice(0)) await platform.files.remove(path)
  }
  try {
    // In one order, so that processes with several files do not wait for each other.
    for (const path of paths.toSorted()) {
      const lock = `${path}.lock`
      await platform.files.makeFolder(dirname(path))
      await waitForLock(platform, lock)
      held.push(lock)
    }
  } catch (error) {
    await release()
    throw error
  }
  return { [Symbol.asyncDispose]: release }
}

async function waitForLock(platform: Platform, lock: string): Promise<void> {
  const { clock, files, random } = platform
  const own = `${lock}.${random.uuid('kubeconfig-lock')}`
  const untilMs = clock.monotonicMs() + waitMsMax
  await files.write(own, '')
  try {
    while (!(await tryLink(platform, { own, lock }))) {
      if (clock.monotonicMs() >= untilMs) {
        throw new Error(`open ${lock}: file exists: another process changes the file, or has left the lock`)
      }
      await clock.sleep(retryMs)
    }
  } finally {
    await files.remove(own)
  }
}

async function tryLink(
  { files }: Platform,
  { own, lock }: { readonly own: string; readonly lock: string },
): Promise<boolean> {
  try {
    await files.link(own, lock)
    return true
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EEXIST') return false
    throw error
  }
}
