/** Removes a pod's directory and all mounts in it, including leftovers of crashes. */
import type { Linux, MountPoint } from '#/platform/linux.ts'

/** A terminating container may mount something in the meantime. */
const triesMax = 3

export async function removePodFolder(linux: Linux, folder: string, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted()
    for (const path of mountsBelow(await linux.mounts.list(), folder)) await linux.mounts.unmount(path)
    try {
      await linux.files.removeTree(folder)
      return
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && error.code === 'EBUSY'
      if (!isBusy || tries >= triesMax) throw error
    }
  }
}

/** Mounts within the directory, innermost first. Pure. */
export function mountsBelow(mounts: readonly MountPoint[], folder: string): readonly string[] {
  const paths = mounts
    .map(({ path }) => path)
    .filter(path => path === folder || path.startsWith(`${folder}/`))
  return [...new Set(paths)].sort((left, right) => right.split('/').length - left.split('/').length)
}
