/**
 * A part of a volume for one mount of a container. Containers that write to the volume may put a link in its place at
 * any moment; so the part is opened without ever leaving the volume, and what was opened is what is mounted below the
 * folder of the pod, where nobody else can reach. The runtime is given that place.
 */
import { dirname, join } from 'node:path'
import type { Linux } from '#/platform/linux.ts'
import type { NodeSettings } from '../node-settings.ts'
import type { PreparedVolume } from './volume-kind.ts'
import { subPathsFolder } from './volume-paths.ts'

export interface SubPathRequest {
  readonly linux: Linux
  readonly node: NodeSettings
  readonly uid: string
  readonly container: string
  /** The number of the mount among those of the container. */
  readonly index: number
  readonly volume: PreparedVolume
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
    // The new folder is for the same people as the volume.
    const mode = (await linux.files.stat(volume.hostPath))?.mode ?? 0o750
    await linux.files.makeFoldersBeneath(volume.hostPath, path, mode)
    return linux.files.openBeneath(volume.hostPath, path)
  }
}

/** Anything but a folder is mounted on a file. One of the other sort may be left of an earlier container. */
async function makeTarget(linux: Linux, target: string, isFolder: boolean): Promise<void> {
  const there = await linux.files.lstat(target)
  if (there && (there.type === 'folder') !== isFolder) await linux.files.removeTree(target)
  if (isFolder) return linux.files.makeFolderUnsynced(target, 0o750)
  await linux.files.makeFolderUnsynced(dirname(target), 0o750)
  await linux.files.writeUnsynced(target, '', 0o640)
}
