/** Reads what `plan.ts` plans from the kernel of the node. */
import type { Linux } from '#/platform/linux.ts'
import type { PodNetworkSettings, PodRoute } from './plan.ts'

/**
 * Marks the routes of the pod network. Not in use by the kernel, iproute2 or routing daemons
 * (`/etc/iproute2/rt_protos`).
 */
export const routeProtocol = 107

export interface PodNetworkState {
  /** All links of the node. */
  readonly links: readonly HostLink[]
  /** Routes with the protocol of the pod network. */
  readonly routes: readonly Omit<PodRoute, 'isOnlink'>[]
  /** Permanent entries of the device. */
  readonly neighbours: readonly { readonly address: string; readonly mac: string }[]
  readonly fdb: readonly { readonly mac: string; readonly destination: string }[]
}

export interface HostLink {
  readonly name: string
  readonly mac: string
  readonly mtu: number
  readonly isUp: boolean
  /** With prefix lengths, without link-local addresses. */
  readonly addresses: readonly string[]
  /** Undefined for other kinds of links. */
  readonly vxlan: VxlanLink | undefined
}

export interface VxlanLink {
  readonly vni: number
  readonly port: number
  readonly local: string | undefined
  readonly link: string | undefined
  readonly isLearning: boolean
}

export interface ReadPodNetworkOptions {
  readonly linux: Pick<Linux, 'run'>
  readonly settings: Pick<PodNetworkSettings, 'device' | 'podCidrs'>
  readonly signal?: AbortSignal
}

export async function readPodNetwork(options: ReadPodNetworkOptions): Promise<PodNetworkState> {
  const { settings } = options
  const { device, podCidrs } = settings
  const families = new Set(podCidrs.map(cidr => (cidr.includes(':') ? '-6' : '-4')))
  const [links, ...routes] = await Promise.all([
    read<IpLink>(options, ['ip', '-j', '-d', 'address', 'show']),
    ...[...families].map(family => {
      return read<IpRoute>(options, ['ip', '-j', family, 'route', 'show', 'proto', String(routeProtocol)])
    }),
  ])
  const hasDevice = links.some(({ ifname, linkinfo }) => ifname === device && linkinfo?.info_kind === 'vxlan')
  const [neighbours, fdb] = await Promise.all([
    hasDevice ? read<IpNeighbour>(options, ['ip', '-j', 'neigh', 'show', 'dev', device]) : [],
    hasDevice ? read<FdbEntry>(options, ['bridge', '-j', 'fdb', 'show', 'dev', device]) : [],
  ])
  return {
    links: links.map(hostLink),
    routes: routes.flat().map(hostRoute),
    neighbours: neighbours.flatMap(({ dst, lladdr = '', state = [] }) => {
      return state.includes('PERMANENT') ? [{ address: dst, mac: lladdr }] : []
    }),
    fdb: fdb.flatMap(({ mac, dst, state }) => {
      return dst !== undefined && state === 'permanent' ? [{ mac, destination: dst }] : []
    }),
  }
}

interface IpLink {
  readonly ifname: string
  readonly address?: string
  readonly mtu: number
  readonly flags: readonly string[]
  readonly linkinfo?: {
    readonly info_kind?: string
    readonly info_data?: {
      readonly id?: number
      readonly port?: number
      readonly local?: string
      readonly local6?: string
      readonly link?: string
      readonly learning?: boolean
    }
  }
  readonly addr_info?: readonly {
    readonly local?: string
    readonly prefixlen?: number
    readonly scope?: string
  }[]
}

interface IpRoute {
  readonly dst: string
  readonly gateway?: string
  readonly dev?: string
  readonly prefsrc?: string
}

interface IpNeighbour {
  readonly dst: string
  readonly lladdr?: string
  readonly state?: readonly string[]
}

interface FdbEntry {
  readonly mac: string
  readonly dst?: string
  readonly state?: string
}

/** Without results some versions of the programs print nothing. */
async function read<T>(
  { linux, signal }: ReadPodNetworkOptions,
  command: readonly string[],
): Promise<readonly T[]> {
  const output = await linux.run(command, signal ? { signal } : {})
  return output.trim() === '' ? [] : (JSON.parse(output) as readonly T[])
}

function hostLink({ ifname, address = '', mtu, flags, linkinfo, addr_info = [] }: IpLink): HostLink {
  return {
    name: ifname,
    mac: address,
    mtu,
    isUp: flags.includes('UP'),
    addresses: addr_info.flatMap(({ local, prefixlen, scope }) => {
      return local === undefined || scope === 'link' ? [] : [`${local}/${prefixlen}`]
    }),
    vxlan: linkinfo?.info_kind === 'vxlan' ? vxlanLink(linkinfo.info_data ?? {}) : undefined,
  }
}

function vxlanLink(
  data: NonNullable<NonNullable<IpLink['linkinfo']>['info_data']>,
): NonNullable<HostLink['vxlan']> {
  const { id = 0, port = 0, local, local6, link, learning = true } = data
  return { vni: id, port, local: local ?? local6, link, isLearning: learning }
}

/** The prefix length of a single address is not printed. */
function hostRoute({
  dst,
  gateway = '',
  dev = '',
  prefsrc = '',
}: IpRoute): PodNetworkState['routes'][number] {
  const destination = dst.includes('/') || dst === 'default' ? dst : `${dst}/${dst.includes(':') ? 128 : 32}`
  return { destination, gateway, device: dev, source: prefsrc }
}

export interface WatchedNetwork {
  readonly device: string
  /** The link with the node's address, when known. */
  readonly link: string | undefined
  /** Destinations of the planned routes. */
  readonly destinations: ReadonlySet<string>
}

/**
 * True if a line of `ip -o monitor label` may be about the pod network of the node. Most lines are about the
 * interfaces of pods and the ARP entries of other hosts.
 */
export function isRelevantChange(line: string, { device, link, destinations }: WatchedNetwork): boolean {
  const [, label = '', text = ''] = /^\[(\w+)\](?:Deleted )?(.*)$/.exec(line) ?? []
  const words = text.split(' ')
  switch (label) {
    case 'LINK':
    case 'ADDR': {
      // Before the link of the node is known, the address may appear on any.
      const name = /^\d+: ([^\s:@]+)/.exec(text)?.[1]
      return name === device || link === undefined || name === link
    }
    case 'ROUTE':
      return (
        words.some(word => destinations.has(word)) ||
        text.includes(` proto ${routeProtocol} `) ||
        text.includes(` dev ${device} `)
      )
    case 'NEIGH':
      return text.includes(` dev ${device} `)
    default:
      return false
  }
}
