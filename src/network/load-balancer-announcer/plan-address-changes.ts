import { cidrContains, parseInterfaceAddress } from '#/api/net/cidr.ts'
import { bitsOf, parseIp, type Ip } from '#/api/net/ip.ts'
import type { AddressedLink } from './link-addresses.ts'

export interface WantedAddress {
  readonly address: string
  /** Seconds until the kernel removes the address unless they are extended; undefined without a limit. */
  readonly validSeconds: number | undefined
}

export interface AddressWorld {
  readonly wanted: readonly WantedAddress[]
  readonly links: readonly AddressedLink[]
  /** Addresses of this node, the preferred one first. */
  readonly nodeAddresses: readonly string[]
  /** Metric of announced addresses. */
  readonly metric: number
}

export interface AddressChanges {
  /** For `ip -batch`. */
  readonly commands: readonly string[]
  /** Links that get an IPv6 address. */
  readonly ipv6Links: readonly string[]
  /** Where each wanted address is after the changes. */
  readonly placed: ReadonlyMap<string, PlacedAddress>
  /** Wanted addresses that were not on their link, or could not be used there. */
  readonly added: readonly string[]
  readonly withdrawn: readonly string[]
  /** Wanted addresses without a link that could carry them. */
  readonly unplaced: readonly string[]
}

export interface PlacedAddress {
  readonly link: string
  readonly mac: string
}

/** Differences of the remaining time below this are not corrected. */
const toleranceSeconds = 3

/** The changes from what the links have to the wanted addresses, each on one link with single-address prefix. */
export function planAddressChanges({ wanted, links, nodeAddresses, metric }: AddressWorld): AddressChanges {
  const commands: string[] = []
  const added: string[] = []
  const unplaced: string[] = []
  const ipv6Links = new Set<string>()
  const placed = new Map<string, PlacedAddress>()
  const current = links.flatMap(link => {
    return link.addresses.filter(each => each.metric === metric).map(each => ({ ...each, link: link.name }))
  })
  for (const { address, validSeconds } of wanted) {
    const ip = parseIp(address)
    const link = ip && linkFor(ip, { links, nodeAddresses, metric })
    if (ip === undefined || link === undefined) {
      unplaced.push(address)
      continue
    }
    placed.set(address, { link: link.name, mac: link.mac })
    const known = current.find(each => each.address === address && each.link === link.name)
    const text = `${address}/${bitsOf(ip.family)} dev ${link.name} metric ${metric} ${lifetimes(validSeconds)}`
    if (known !== undefined && !known.isDuplicate) {
      if (!isClose(known.validSeconds, validSeconds)) commands.push(`address change ${text}`)
      continue
    }
    if (known !== undefined) commands.push(`address delete ${address}/${known.prefixLength} dev ${link.name}`)
    commands.push(`address add ${text}`)
    added.push(address)
    if (ip.family === 6) ipv6Links.add(link.name)
  }
  const surplus = current.filter(({ address, link }) => placed.get(address)?.link !== link)
  const deletions = surplus.map(
    each => `address delete ${each.address}/${each.prefixLength} dev ${each.link}`,
  )
  return {
    // Before additions: an address may move to another link of the node.
    commands: [...deletions, ...commands],
    ipv6Links: [...ipv6Links],
    placed,
    added,
    withdrawn: surplus.map(({ address }) => address),
    unplaced,
  }
}

/**
 * The link on whose subnet the address is, or else the link with the node's address. Links without a carrier are
 * left out: nothing could receive the announcement.
 */
function linkFor(
  ip: Ip,
  { links, nodeAddresses, metric }: Omit<AddressWorld, 'wanted'>,
): AddressedLink | undefined {
  const own = links.map(link => ({ link, addresses: link.addresses.filter(each => each.metric !== metric) }))
  const onSubnet = own.find(({ addresses }) => {
    return addresses.some(({ address, prefixLength }) => {
      const subnet = parseInterfaceAddress(`${address}/${prefixLength}`)?.cidr
      return subnet && subnet.prefixLength < bitsOf(subnet.family) && cidrContains(subnet, ip)
    })
  })
  const ofFamily = nodeAddresses.filter(address => parseIp(address)?.family === ip.family)
  const ofNode = [...ofFamily, ...nodeAddresses].flatMap(nodeAddress => {
    return own.find(({ addresses }) => addresses.some(({ address }) => address === nodeAddress)) ?? []
  })
  const link = (onSubnet ?? ofNode[0])?.link
  return link?.isUp === true ? link : undefined
}

/** Announced addresses are not used as source addresses of the node's own packets, where that can be avoided. */
function lifetimes(validSeconds: number | undefined): string {
  return `valid_lft ${validSeconds ?? 'forever'} preferred_lft 0`
}

function isClose(known: number | undefined, wanted: number | undefined): boolean {
  if (known === undefined || wanted === undefined) return known === wanted
  return Math.abs(known - wanted) <= toleranceSeconds
}

/** Lines for `ip -batch` that send a gratuitous ARP request for an address of the link. */
export function gratuitousArp(address: string, link: string): readonly string[] {
  // A probe of a neighbour entry has the source address that is first on the link among those with the same subnet;
  // addresses of scope link come before others. The second address with the same local part exists only for the probe.
  const probe = `${address}/31 dev ${link}`
  return [
    `neighbour replace ${address} dev ${link} nud failed`,
    `address add ${probe} scope link noprefixroute`,
    `neighbour replace ${address} dev ${link} use`,
    `neighbour delete ${address} dev ${link}`,
    `address delete ${probe}`,
  ]
}
