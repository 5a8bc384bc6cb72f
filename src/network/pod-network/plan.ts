/**
 * Plans what a node needs to reach the pods of the other nodes, in both address families.
 *
 * With `vxlan`, each node has a VXLAN device (a VTEP) with the network addresses of its pod CIDRs. The pod CIDR
 * of each peer is routed to the peer's VTEP, whose MAC address is derived from the node's address: all
 * neighbour and forwarding entries are permanent, and nothing is learned or flooded. With `host-gw`, the pod
 * CIDR of a peer is routed to its node address, for which both must be on the same subnet.
 */
import { createHash } from 'node:crypto'
import {
  cidrContains,
  cidrContainsCidr,
  cidrsOverlap,
  firstAddress,
  formatCidr,
  parseCidr,
  type Cidr,
} from '#/api/net/cidr.ts'
import { bitsOf, formatIp, ipFromValue, parseIp, type Ip, type IpFamily } from '#/api/net/ip.ts'

export interface PodNetworkSettings {
  readonly backend: 'vxlan' | 'host-gw'
  /** Name of the VXLAN device. */
  readonly device: string
  readonly vni: number
  /** UDP port of VXLAN. */
  readonly port: number
  /** The pod CIDRs of the whole cluster. */
  readonly podCidrs: readonly string[]
}

export interface PodNetworkNode {
  readonly name: string
  /** Addresses of type InternalIP. The first of each family is used. */
  readonly addresses: readonly string[]
  readonly podCidrs: readonly string[]
}

/** The link with the node's address. */
export interface NodeLink {
  readonly name: string
  readonly mtu: number
  /** With prefix lengths. */
  readonly addresses: readonly string[]
}

export interface PodNetworkPlan {
  /** Undefined with `host-gw`. */
  readonly device: VxlanDevice | undefined
  /** Addresses of the device. */
  readonly addresses: readonly string[]
  /** Permanent neighbour entries (ARP and NDP) of the device. */
  readonly neighbours: readonly { readonly address: string; readonly mac: string }[]
  /** Permanent entries of the device's forwarding database: MAC address and node address of a VTEP. */
  readonly fdb: readonly { readonly mac: string; readonly destination: string }[]
  readonly routes: readonly PodRoute[]
  /** MTU of the pods. */
  readonly mtu: number
  /** Pod CIDRs without a route. */
  readonly refused: readonly { readonly node: string; readonly podCidr: string; readonly reason: string }[]
}

export interface VxlanDevice {
  readonly mac: string
  readonly mtu: number
  readonly vni: number
  readonly port: number
  /** The node's address. */
  readonly local: string
  readonly link: string
}

export interface PodRoute {
  readonly destination: string
  readonly gateway: string
  readonly device: string
  /** Source address of the node's own packets. Every node can answer it. */
  readonly source: string
  /** The gateway is reached through the device although no route says so. */
  readonly isOnlink: boolean
}

export interface PlanPodNetworkOptions {
  readonly self: PodNetworkNode
  readonly peers: readonly PodNetworkNode[]
  readonly link: NodeLink
  readonly settings: PodNetworkSettings
}

/** Outer Ethernet, IP, UDP and VXLAN headers, by the family of the node addresses. */
const vxlanOverheadBytes: Readonly<Record<IpFamily, number>> = { 4: 50, 6: 70 }

/** MTU of the pods. */
export function podMtu(
  backend: PodNetworkSettings['backend'],
  link: { readonly mtu: number; readonly family: IpFamily },
): number {
  return backend === 'vxlan' ? link.mtu - vxlanOverheadBytes[link.family] : link.mtu
}

/** Undefined until the node has an address and a pod CIDR. */
export function planPodNetwork(options: PlanPodNetworkOptions): PodNetworkPlan | undefined {
  const { self, link, settings } = options
  const underlay = underlayAddress(self.addresses)
  const own = cidrsOf(self)
  if (underlay === undefined || own.length === 0) return undefined
  const { peers, refused } = selectPeers(options, own)
  const plan = settings.backend === 'vxlan' ? planVxlan : planHostGateway
  return plan({ self, own, peers, refused, link, settings, underlay })
}

/** The address of the node on the network of the nodes: the first IPv4 address, or else the first. */
export function underlayAddress(addresses: readonly string[]): Ip | undefined {
  return addressOf(addresses, 4) ?? addressOf(addresses, 6)
}

interface Selection {
  readonly self: PodNetworkNode
  readonly own: readonly Cidr[]
  /** A pod CIDR of a peer each. */
  readonly peers: readonly { readonly node: PodNetworkNode; readonly cidr: Cidr }[]
  readonly refused: PodNetworkPlan['refused']
  readonly link: NodeLink
  readonly settings: PodNetworkSettings
  readonly underlay: Ip
}

/** Nodes without a pod CIDR or address are not ready for pods; they are skipped without a warning. */
function selectPeers(
  { self, peers, settings }: PlanPodNetworkOptions,
  own: readonly Cidr[],
): Pick<Selection, 'peers' | 'refused'> {
  const cluster = settings.podCidrs.flatMap(text => parseCidr(text) ?? [])
  const owners = new Map<string, string>()
  const selected: { node: PodNetworkNode; cidr: Cidr }[] = []
  const refused: { node: string; podCidr: string; reason: string }[] = []
  for (const node of peers.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (node.name === self.name || underlayAddress(node.addresses) === undefined) continue
    for (const cidr of cidrsOf(node)) {
      if (!own.some(({ family }) => family === cidr.family)) continue
      const podCidr = formatCidr(cidr)
      const reason = reasonAgainst(cidr)
      if (reason !== undefined) refused.push({ node: node.name, podCidr, reason })
      else {
        owners.set(podCidr, node.name)
        selected.push({ node, cidr })
      }
    }
  }
  return { peers: selected, refused }

  function reasonAgainst(cidr: Cidr): string | undefined {
    const overlapping = own.find(each => cidrsOverlap(each, cidr))
    if (overlapping) return `it overlaps the pod CIDR ${formatCidr(overlapping)} of this node`
    if (!cluster.some(each => cidrContainsCidr(each, cidr)))
      return `it is not in the pod CIDRs of the cluster, ${settings.podCidrs.join()}`
    const owner = owners.get(formatCidr(cidr))
    return owner && `it is the pod CIDR of node ${owner} too`
  }
}

function planVxlan({ own, peers, refused, link, settings, underlay }: Selection): PodNetworkPlan {
  const { family } = underlay
  const local = formatIp(underlay)
  const mtu = podMtu('vxlan', { mtu: link.mtu, family })
  const { device, vni, port } = settings
  const neighbours = new Map<string, string>()
  const fdb = new Map<string, string>()
  const routes: PodRoute[] = []
  const unreachable: PodNetworkPlan['refused'][number][] = []
  for (const { node, cidr } of peers) {
    const remote = addressOf(node.addresses, family)
    const destination = formatCidr(cidr)
    const reason = reasonAgainst(remote)
    if (remote === undefined || reason !== undefined) {
      unreachable.push({ node: node.name, podCidr: destination, reason: reason ?? '' })
      continue
    }
    const mac = vtepMac(remote)
    // The kernel refuses a global IPv6 gateway to which it has a route through another device.
    const gateway = cidr.family === 4 ? networkAddress(cidr) : linkLocalAddress(mac)
    const source = networkAddress(own.find(each => each.family === cidr.family) ?? cidr)
    neighbours.set(gateway, mac)
    fdb.set(mac, formatIp(remote))
    routes.push({ destination, gateway, device, source, isOnlink: cidr.family === 4 })
  }
  return {
    device: { mac: vtepMac(underlay), mtu, vni, port, local, link: link.name },
    addresses: own.map(cidr => `${networkAddress(cidr)}/${bitsOf(cidr.family)}`),
    neighbours: [...neighbours].map(([address, mac]) => ({ address, mac })),
    fdb: [...fdb].map(([mac, destination]) => ({ mac, destination })),
    routes,
    mtu,
    refused: [...refused, ...unreachable],
  }

  function reasonAgainst(remote: Ip | undefined): string | undefined {
    if (remote === undefined) return `the node has no IPv${family} address`
    const text = formatIp(remote)
    return text === local ? `the node has the address of this node, ${text}` : undefined
  }
}

function planHostGateway({ self, peers, refused, link }: Selection): PodNetworkPlan {
  const subnets = link.addresses.flatMap(text => parseCidr(text) ?? [])
  const routes: PodRoute[] = []
  const unreachable: PodNetworkPlan['refused'][number][] = []
  for (const { node, cidr } of peers) {
    const { family } = cidr
    const [from, gateway] = [self, node].map(({ addresses }) => addressOf(addresses, family))
    const destination = formatCidr(cidr)
    const reason = reasonAgainst(family, from, gateway)
    if (from === undefined || gateway === undefined || reason !== undefined)
      unreachable.push({ node: node.name, podCidr: destination, reason: reason ?? '' })
    else {
      const [source, via] = [formatIp(from), formatIp(gateway)]
      routes.push({ destination, gateway: via, device: link.name, source, isOnlink: false })
    }
  }
  return {
    device: undefined,
    addresses: [],
    neighbours: [],
    fdb: [],
    routes,
    mtu: link.mtu,
    refused: [...refused, ...unreachable],
  }

  function reasonAgainst(
    family: IpFamily,
    from: Ip | undefined,
    gateway: Ip | undefined,
  ): string | undefined {
    if (from === undefined) return `this node has no IPv${family} address`
    if (gateway === undefined) return `the node has no IPv${family} address`
    if (subnets.some(subnet => cidrContains(subnet, from) && cidrContains(subnet, gateway))) return undefined
    const address = formatIp(gateway)
    return `address ${address} is not on the subnet of link ${link.name}: use the backend vxlan`
  }
}

/** Invalid and duplicate texts are left out: the API server accepts only valid pod CIDRs. */
function cidrsOf({ podCidrs }: PodNetworkNode): readonly Cidr[] {
  return podCidrs.flatMap(text => parseCidr(text) ?? [])
}

function addressOf(addresses: readonly string[], family: IpFamily): Ip | undefined {
  return addresses.map(parseIp).find(ip => ip?.family === family)
}

function networkAddress(cidr: Cidr): string {
  return formatIp(firstAddress(cidr))
}

/** Locally administered. Contains an IPv4 address, and 40 bits of the hash of an IPv6 address. */
function vtepMac({ family, value }: Ip): string {
  const digest = createHash('sha256').update(value.toString(16)).digest('hex')
  const hex = family === 4 ? `066b${value.toString(16).padStart(8, '0')}` : `0a${digest.slice(0, 10)}`
  return hex.match(/../g)!.join(':')
}

/** The modified EUI-64 address of RFC 4291. */
function linkLocalAddress(mac: string): string {
  const octets = mac.split(':').map(octet => Number.parseInt(octet, 16))
  const identifier = [octets[0]! ^ 2, ...octets.slice(1, 3), 0xff, 0xfe, ...octets.slice(3)]
  const value = identifier.reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0xfe80n << 48n)
  return formatIp(ipFromValue(6, value)!)
}
