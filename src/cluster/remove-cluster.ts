/**
 * Removes everything that a stopped cluster has left on the machine: containers in any state, network,
 * mounts, cgroups and its folder. Idempotent: it may be interrupted and repeated.
 */
import { planClusterNetwork } from '#/network/cluster-network.ts'
import { readNetworkSlot, type NetworkSlot } from '#/network/network-slot.ts'
import { NodeNetwork } from '#/network/node-network.ts'
import { removePodNetwork } from '#/network/pod-network.ts'
import { removeAnnouncedAddresses } from '#/network/remove-announced-addresses.ts'
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { removeServiceRules } from '#/proxy/proxy-modes.ts'
import { removeNamespacedNodes } from './namespaced-node.ts'
import { nodeCgroup, nodeFolders } from './node-folders.ts'
import { podNetworkOf } from './node-networks.ts'
import { removeContainers } from './remove-containers.ts'
import { removeFolder } from './remove-folder.ts'

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
    await removeNamespacedNodes({ platform, linux, folder, network: planClusterNetwork(claim.slot) })
    await removeContainers({ platform, linux, folder, cgroupRoot: nodeCgroup(claim.slot) })
    onProgress('containers removed')
    await removeNetwork({ platform, linux, folder, claim })
    onProgress('network removed')
  }
  await removeFolder(platform, folder)
  onProgress(`${folder} removed`)
}

type Left = Required<Omit<RemoveClusterOptions, 'onProgress'>>

async function removeNetwork({ platform, linux, folder, claim }: Left): Promise<void> {
  const network = planClusterNetwork(claim.slot)
  const { cni, addresses } = nodeFolders(folder)
  const { proxy, policy } = network.tables
  await removeServiceRules(linux, proxy)
  await removeNftablesTables(linux, policy)
  await removeAnnouncedAddresses(linux, proxy)
  const { device, podCidrs } = podNetworkOf(network, { vni: claim.slot })
  await removePodNetwork(linux, { device, podCidrs })
  const node = new NodeNetwork({
    linux,
    files: platform.files,
    network,
    claim,
    folders: { configuration: cni, addresses },
  })
  await node.remove()
}
