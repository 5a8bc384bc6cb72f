import { join } from 'node:path/posix'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'

/**
 * Chooses overlayfs if the directory's filesystem supports an overlay upper layer, otherwise the native
 * snapshotter, which copies: slow and large.
 */
export async function chooseSnapshotter(
  files: Files,
  linux: Linux,
  folder: string,
): Promise<'overlayfs' | 'native'> {
  const trial = join(folder, 'overlay-trial')
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map(name => join(trial, name))
  await linux.mounts.unmount(merged!)
  await files.remove(trial)
  for (const each of [lower, upper, work, merged]) await files.makeFolder(each!)
  try {
    const flags = [`lowerdir=${lower}`, `upperdir=${upper}`, `workdir=${work}`]
    await linux.mounts.mount({ source: 'overlay', target: merged!, type: 'overlay', flags })
    await linux.mounts.unmount(merged!)
    return 'overlayfs'
  } catch {
    return 'native'
  } finally {
    await files.remove(trial)
  }
}
