import { join } from 'node:path/posix'
import type { Linux } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'

/**
 * How containers get their own view of an image's files: as an overlay where the filesystem of the folder can be the
 * upper part of one, and else, which is slow and takes space, as a copy.
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
