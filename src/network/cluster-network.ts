/**
 * Plans the addresses and names of a cluster on its machine. Several clusters may run side by side: each has
 * a permanent slot number, from which everything that could conflict is derived. The machine is the first
 * node of the cluster, at the first address of the cluster's bridge; further nodes are attached to the same
 * bridge. Nothing here changes the machine.
 */
import { cidrsOverlap, formatCidr, nthAddress, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import { formatIp } from '#/api/net/ip.ts'

/** The addresses and names of one node. */
export interface NodeAddressing {
  /** The link of the first node; on all nodes the name of the pod network and of what is made for it. */
  readonly bridge: string
  /** Range of the node addresses, which only nodes have; absent if nodes are on a network of other machines. */
  readonly nodeCidr?: string
  readonly nodeAddress: string
  /** One range, or one of each family, the preferred family first; each node gets a part of it. */
  readonly podCidrs: readonly string[]
  readonly serviceCidrs: readonly string[]
  readonly dnsAddress: string
  /** Names of the nftables tables. */
  readonly tables: { readonly proxy: string; readonly policy: string; readonly network: string }
}

/** With the address of the first node, the machine, where the API server and the DNS server listen. */
export interface ClusterNetwork extends NodeAddressing {
  readonly nodeCidr: string
  readonly slot: number
  /** Range for services of type LoadBalancer that this machine reaches without further routes. */
  readonly loadBalancerAddresses: string
}

/** Overrides of the defaults of the slot. */
export interface ClusterNetworkOverrides {
  readonly nodeCidr?: string
  readonly podCidrs?: readonly string[]
  readonly serviceCidrs?: readonly string[]
}

export const slotCount = 16

/**
 * The node addresses of all clusters of a machine with default ranges. Docker does not allocate networks
 * here.
 */
export const allNodesCidr = '10.214.0.0/20'

/** Throws Error when a range is invalid, too small, or overlaps another. */
export function planClusterNetwork(slot: number, choice: ClusterNetworkOverrides = {}): ClusterNetwork {
  if (!Number.isInteger(slot) || slot < 0 || slot >= slotCount) {
    throw new Error(`invalid network slot ${slot}: must be 0 to ${slotCount - 1}`)
  }
  const {
    nodeCidr = `10.214.${slot}.0/24`,
    podCidrs = [`10.${244 - slot}.0.0/16`],
    serviceCidrs = [`10.${96 + slot}.0.0/16`],
  } = choice
  const nodes = parseRange('nodes', nodeCidr)
  const services = serviceCidrs.map(text => parseRange('services', text))
  const pods = podCidrs.map(text => parseRange('pods', text))
  refuseOverlaps([
    ['nodes', [nodes]],
    ['pods', pods],
    ['services', services],
  ])
  const half = 1n << BigInt(31 - nodes.prefixLength)
  if (nodes.family !== 4 || nodes.prefixLength > 28) {
    throw new Error(`node CIDR ${nodeCidr} must be IPv4 with a prefix length of at most 28`)
  }
  return {
    slot,
    bridge: `k8ts${slot}`,
    nodeCidr: formatCidr(nodes),
    nodeAddress: addressAt(nodes, 1),
    podCidrs: pods.map(formatCidr),
    serviceCidrs: services.map(formatCidr),
    dnsAddress: addressAt(services[0], 10),
    loadBalancerAddresses: `${addressAt(nodes, half)}-${addressAt(nodes, half * 2n - 2n)}`,
    tables: { proxy: `k8ts${slot}-proxy`, policy: `k8ts${slot}-policy`, network: `k8ts${slot}-network` },
  }
}

function parseRange(of: string, text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined) throw new Error(`invalid CIDR ${text} for ${of}, e.g. 10.0.0.0/16`)
  return cidr
}

function addressAt(cidr: Cidr | undefined, index: number | bigint): string {
  const ip = cidr && nthAddress(cidr, index)
  if (!cidr || !ip) throw new Error(`CIDR ${cidr ? formatCidr(cidr) : ''} has fewer than ${index} addresses`)
  return formatIp(ip)
}

function refuseOverlaps(ranges: readonly (readonly [of: string, cidrs: readonly Cidr[]])[]): void {
  const all = ranges.flatMap(([of, cidrs]) => cidrs.map(cidr => ({ of, cidr })))
  for (const [index, one] of all.entries()) {
    const other = all.slice(index + 1).find(each => cidrsOverlap(each.cidr, one.cidr))
    if (!other) continue
    const [left, right] = [one, other].map(({ of, cidr }) => `${of} ${formatCidr(cidr)}`)
    throw new Error(`CIDR of ${left} overlaps CIDR of ${right}`)
  }
}
