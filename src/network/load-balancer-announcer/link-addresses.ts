/** The addresses of the links of a node, as the kernel knows them. */
import type { Linux } from '#/platform/linux.ts'
import { hash } from './plan-announcements.ts'

export interface AddressedLink {
  readonly name: string
  readonly mac: string
  /** True if it is up and has a carrier: a bridge without ports has none. */
  readonly isUp: boolean
  readonly addresses: readonly LinkAddress[]
}

export interface LinkAddress {
  readonly address: string
  readonly prefixLength: number
  /** Route metric of the address; marks the announced addresses. */
  readonly metric: number | undefined
  /** Seconds until the kernel removes the address; undefined for an address without a limit. */
  readonly validSeconds: number | undefined
  /** Duplicate address detection (RFC 4862) found another owner on the link. */
  readonly isDuplicate: boolean
}

/**
 * The metric of announced addresses, by which they are found again by another process. It is different for the
 * clusters of one machine, which have different names, and has no effect on routing: single addresses have only
 * local routes. Address labels do not exist for IPv6, and older versions of iproute2 have no address protocols.
 */
export function announcedMetric(name: string): number {
  return 1_000_000 + (hash(name) % 1_000_000)
}

export async function readLinkAddresses(
  linux: Pick<Linux, 'run'>,
  signal?: AbortSignal,
): Promise<readonly AddressedLink[]> {
  const output = await linux.run(['ip', '-j', 'address', 'show'], signal ? { signal } : {})
  const links = JSON.parse(output) as readonly IpLink[]
  return links.map(({ ifname, address = '', flags = [], addr_info: all = [] }) => ({
    name: ifname,
    mac: address,
    isUp: flags.includes('UP') && flags.includes('LOWER_UP') && !flags.includes('LOOPBACK'),
    addresses: all.flatMap(({ local, prefixlen = 0, metric, valid_life_time: seconds, dadfailed }) => {
      if (local === undefined) return []
      const validSeconds = seconds === undefined || seconds >= foreverSeconds ? undefined : seconds
      const isDuplicate = dadfailed === true
      return [{ address: local, prefixLength: prefixlen, metric, validSeconds, isDuplicate }]
    }),
  }))
}

/**
 * True if a line of `ip -o monitor label link address` may be about an announced address or a link that has one. Most
 * lines are about the interfaces of pods, which are veth pairs.
 */
export function isRelevantAddressChange(line: string, metric: number): boolean {
  const [, label = '', text = ''] = /^\[(\w+)\](?:Deleted )?(.*)$/.exec(line) ?? []
  if (label === 'ADDR') return text.includes(` metric ${metric} `)
  return label === 'LINK' && !/^\d+: veth/.test(text)
}

const foreverSeconds = 2 ** 32 - 1

/** Output of `ip -j address show`. */
interface IpLink {
  readonly ifname: string
  readonly address?: string
  readonly flags?: readonly string[]
  readonly addr_info?: readonly {
    readonly local?: string
    readonly prefixlen?: number
    readonly metric?: number
    readonly valid_life_time?: number
    readonly dadfailed?: boolean
  }[]
}
