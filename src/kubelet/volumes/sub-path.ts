/**
 * Bind mounts for `subPath`. Containers that write to the volume could replace the path with a symlink at any
 * time. So the path is opened without leaving the volume, and the opened file is bind-mounted in the pod's
 * directory, where containers have no access. The runtime mounts that location.
 */
import { dirname, join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import type { MountedVolume } from './volume-plugin.ts'
import { subPathsFolder } from './volume-paths.ts'

export interface SubPathRequest {
  readonly linux: Linux
  readonly node: KubeletConfiguration
  readonly uid: string
  readonly container: string
  /** Index among the container's mounts. */
  readonly index: number
  readonly volume: MountedVolume
  readonly path: string
}

export async function prepareSubPath(request: SubPathRequest): Promise<string> {
  const { linux, node, uid, container, index, volume } = request
  const target = join(subPathsFolder(node, uid), volume.name, container, String(index))
  await using held = await openPart(request)
  const [source, there] = await Promise.all([linux.files.stat(held.path), linux.files.lstat(target)])
  const isMounted = (await linux.mounts.list()).some(({ path }) => path === target)
  if (isMounted && source && there?.inode === source.inode && there.device === source.device) return target
  if (isMounted) await linux.mounts.unmount(target)
  await makeTarget(linux, target, held.isFolder)
  await linux.mounts.bind(held.path, target)
  return target
}

async function openPart({ linux, volume, path }: SubPathRequest) {
  try {
    return await linux.files.openBeneath(volume.hostPath, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    // A new directory gets the volume's mode.
    const mode = (await linux.files.stat(volume.hostPath))?.mode ?? 0o750
    await linux.files.makeFoldersBeneath(volume.hostPath, path, mode)
    return linux.files.openBeneath(volume.hostPath, path)
  }
}

/**
 * Files are mounted on a file, directories on a directory. A target of the wrong type may be left by an
 * earlier container.
 */
async function makeTarget(linux: Linux, target: string, isFolder: boolean): Promise<void> {
  const there = await linux.files.lstat(target)
  if (there && (there.type === 'folder') !== isFolder) await linux.files.removeTree(target)
  if (isFolder) return linux.files.makeFolderUnsynced(target, 0o750)
  await linux.files.makeFolderUnsynced(dirname(target), 0o750)
  await linux.files.writeUnsynced(target, '', 0o640)
}
