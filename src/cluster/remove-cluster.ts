/**
 * Removes everything that a stopped cluster has left on the machine: containers in any state, network,
 * mounts, cgroups and its folder. Idempotent: it may be interrupted and repeated.
 */
import { join } from 'node:path'
import { planClusterNetwork } from '#/network/cluster-network.ts'
import { readNetworkSlot, type NetworkSlot } from '#/network/network-slot.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { removeNftablesRules } from '#/proxy/nftables.ts'
import { nodeCgroup, nodeFolders } from './node-folders.ts'
import { terminateNodeProcesses } from './node-processes.ts'
import { removeShimSockets } from './shim-sockets.ts'

export interface RemoveClusterOptions {
  readonly platform: Platform
  /** Absent on platforms without containers. */
  readonly linux?: Linux
  readonly folder: string
  /** The network slot of the cluster; read from its folder when absent. */
  readonly claim?: NetworkSlot
  readonly onProgress: (text: string) => void
}

export async function removeCluster({
  platform,
  linux,
  folder,
  claim: given,
  onProgress,
}: RemoveClusterOptions): Promise<void> {
  const claim = given ?? (await readNetworkSlot(platform.files, folder))
  if (linux && claim) {
    await removeContainers({ platform, linux, folder, claim })
    onProgress('containers removed')
    await removeNetwork({ platform, linux, folder, claim })
    onProgress('network removed')
  }
  await removeFolder(platform, folder)
  onProgress(`${folder} removed`)
}

/** A folder that is a mount point is emptied but kept. */
async function removeFolder({ files }: Platform, folder: string): Promise<void> {
  if ((await files.stat(folder)) === undefined) return
  for (const name of await files.list(folder)) await files.remove(join(folder, name))
  try {
    await files.remove(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
  }
}

type Left = Required<Omit<RemoveClusterOptions, 'onProgress'>>

/** Short grace period: the data of the containers is removed anyway. */
const graceMs = 1_000

async function removeContainers({ platform, linux, folder, claim }: Left): Promise<void> {
  const cgroupRoot = nodeCgroup(claim.slot)
  const { containerdSocket } = nodeFolders(folder)
  await terminateNodeProcesses({ platform, linux, cgroupRoot, containerdSocket }, graceMs)
  await removeShimSockets(platform, nodeFolders(folder))
  // Unmounts in reverse order: later mounts may be on top of earlier ones.
  const mounts = (await linux.mounts.list()).filter(({ path }) => path.startsWith(join(folder, '/')))
  for (const { path } of mounts.toReversed()) await linux.mounts.unmount(path)
  await removeCgroups(linux, cgroupRoot)
}

async function removeNetwork({ platform, linux, folder, claim }: Left): Promise<void> {
  const network = planClusterNetwork(claim.slot)
  const { cni, addresses } = nodeFolders(folder)
  await removeNftablesRules(linux, network.tables.proxy)
  const node = new NodeNetwork({
    linux,
    files: platform.files,
    network,
    claim,
    folders: { configuration: cni, addresses },
  })
  await node.remove()
}

/** For cgroup v1 and v2, deepest groups first. */
async function removeCgroups(linux: Linux, root: string): Promise<void> {
  const each = '[ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} +'
  const script = `for group in /sys/fs/cgroup"$1" /sys/fs/cgroup/*"$1"; do ${each}; done; true`
  await linux.run(['sh', '-c', script, 'sh', root])
}
