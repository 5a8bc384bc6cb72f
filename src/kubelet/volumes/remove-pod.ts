/** Takes away all that a pod has on the node's disk, whoever made it and whatever was forgotten in a crash. */
import type { Linux, MountPoint } from '#/platform/linux.ts'

/** What is mounted while it goes away, by a container that is about to end. */
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

/** What is inside of another comes first; of two at one place the later one, which hides the other. Pure. */
export function mountsBelow(mounts: readonly MountPoint[], folder: string): readonly string[] {
  const paths = mounts
    .map(({ path }) => path)
    .filter(path => path === folder || path.startsWith(`${folder}/`))
  return [...new Set(paths)].sort((left, right) => right.split('/').length - left.split('/').length)
}
