/** Removes what the containers of a stopped node have left: processes, mounts and cgroups. Idempotent. */
import { join } from 'node:path'
import { killOrphanedContainerd } from '#/cri/private-containerd.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { nodeFolders } from './node-folders.ts'
import { terminateNodeProcesses } from './node-processes.ts'
import { findShimSockets, removeShimSockets } from './shim-sockets.ts'

export interface RemoveContainersOptions {
  readonly platform: Platform
  readonly linux: Linux
  /** Folder of the node. */
  readonly folder: string
  readonly cgroupRoot: string
  /** Volumes of pods; in the folder when absent. */
  readonly rootDirectory?: string
}

/** Short grace period: the data of the containers is removed anyway. */
const graceMs = 1_000

export async function removeContainers(options: RemoveContainersOptions): Promise<void> {
  const { platform, linux, folder, cgroupRoot, rootDirectory = folder } = options
  const { containerd, containerdSocket } = nodeFolders(folder)
  const sockets = await findShimSockets(platform, nodeFolders(folder))
  await terminateNodeProcesses({ platform, linux, cgroupRoot, containerdSocket }, graceMs)
  // That of a kubelet in a process of its own goes on after it.
  await killOrphanedContainerd(platform, linux, containerd)
  await removeShimSockets(platform, nodeFolders(folder), sockets)
  // Unmounts in reverse order: later mounts may be on top of earlier ones.
  const mounts = (await linux.mounts.list()).filter(({ path }) => {
    return [folder, rootDirectory].some(each => path.startsWith(join(each, '/')))
  })
  for (const { path } of mounts.toReversed()) await linux.mounts.unmount(path)
  await removeCgroups(linux, cgroupRoot)
}

/** For cgroup v1 and v2, deepest groups first. */
async function removeCgroups(linux: Linux, root: string): Promise<void> {
  const each = '[ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} +'
  const script = `for group in /sys/fs/cgroup"$1" /sys/fs/cgroup/*"$1"; do ${each}; done; true`
  await linux.run(['sh', '-c', script, 'sh', root])
}
