/** The settings of service proxy and pod network that follow from the addresses of a node. */
import type { IpFamily } from '#/api/net/ip.ts'
import { allNodesCidr, type NodeAddressing } from '#/network/cluster-network.ts'
import type { PodNetworkSettings } from '#/network/pod-network.ts'
import type { ProxyNetwork } from '#/proxy/proxier.ts'

/** Names on a host of a cluster of several machines, whose nodes are on a network of other machines. */
export const hostNetwork = {
  bridge: 'k8ts',
  tables: { proxy: 'k8ts-proxy', policy: 'k8ts-policy', network: 'k8ts-network' },
} as const

/** Name of the CNI network of a host: as its cgroup, it is unique on the machine. */
export function cniNetworkOf(cgroupRoot: string): string {
  return cgroupRoot.split('/').filter(Boolean).join('-') || hostNetwork.bridge
}

/** The addresses of other clusters on the machine are not those of nodes of this one. */
export function proxyNetworkOf(network: NodeAddressing): ProxyNetwork {
  const { tables, podCidrs, serviceCidrs, nodeAddress, nodeCidr } = network
  // Without pod CIDRs another plugin connects the pods, and services tell the families.
  const ranges = podCidrs.length > 0 ? podCidrs : serviceCidrs
  const families = [...new Set(ranges.map((cidr): IpFamily => (cidr.includes(':') ? 6 : 4)))]
  const foreignAddresses = [allNodesCidr].filter(cidr => cidr !== nodeCidr)
  return {
    table: tables.proxy,
    families,
    podCidrs,
    serviceCidrs,
    nodeAddresses: [nodeAddress],
    foreignAddresses,
  }
}

/** Of the pod networks of all clusters on a machine; flannel uses the same. */
const vxlanPort = 8_472

/** The VNI is the same on all nodes of a cluster. */
export function podNetworkOf(
  { bridge, podCidrs }: Pick<NodeAddressing, 'bridge' | 'podCidrs'>,
  { vni, backend = 'vxlan' }: { readonly vni: number; readonly backend?: PodNetworkSettings['backend'] },
): PodNetworkSettings {
  return { backend, device: `${bridge}vx`, vni, port: vxlanPort, podCidrs }
}
