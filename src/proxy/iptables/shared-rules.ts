import type { IpFamily } from '#/api/net/ip.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { ProxyNetwork } from '../proxier.ts'
import type { ChainNames } from './chain-names.ts'
import type { IptablesTable } from './rule-objects.ts'

/** Not used by other programs; also upstream's default. */
const masqueradeBit = '0x4000'

/** The part of a table that has no owner. */
export interface SharedRules {
  /** Rules of chains; rules of services come before them. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Rules in the built-in chains, each `CHAIN RULE`, in their order. */
  readonly jumps: readonly string[]
}

/**
 * Packets are translated in `nat`, and those that no service has translated are refused in `filter`: those to services
 * without endpoints, of clients that a load balancer does not admit, and to ports that a cluster IP does not have.
 */
export function sharedRules(
  family: IpFamily,
  network: ProxyNetwork,
  names: ChainNames,
): Readonly<Record<IptablesTable, SharedRules>> {
  return { nat: natTable(family, network, names), filter: filterTable(family, network, names) }
}

function natTable(family: IpFamily, network: ProxyNetwork, names: ChainNames): SharedRules {
  const pods = network.podCidrs.filter(tableFamily(family).isOwn)
  const name = names.fixed.bind(names)
  return {
    chains: new Map([
      [name('MARK-MASQ'), [`-j MARK --set-xmark ${masqueradeBit}/${masqueradeBit}`]],
      [
        name('MARK-FOREIGN'),
        // Without pod ranges no client is known to be outside.
        pods.length === 0 ? [] : [...pods.map(cidr => `-s ${cidr} -j RETURN`), `-j ${name('MARK-MASQ')}`],
      ],
      [
        name('POSTROUTING'),
        [
          `-m mark ! --mark ${masqueradeBit}/${masqueradeBit} -j RETURN`,
          `-j MARK --set-xmark ${masqueradeBit}/0x0`,
          '-j MASQUERADE --random-fully',
        ],
      ],
      [name('NODEPORTS'), []],
      [name('NODEPORT-ADDRESSES'), nodePortRules(family, network, names)],
      [name('SERVICES'), [`-j ${name('NODEPORT-ADDRESSES')}`]],
    ]),
    jumps: [
      ...['PREROUTING', 'OUTPUT'].map(
        hook => `${hook} -m comment --comment "kubernetes service portals" -j ${name('SERVICES')}`,
      ),
      `POSTROUTING -m comment --comment "kubernetes postrouting rules" -j ${name('POSTROUTING')}`,
    ],
  }
}

function filterTable(family: IpFamily, network: ProxyNetwork, names: ChainNames): SharedRules {
  const { isOwn, loopback } = tableFamily(family)
  const services = network.serviceCidrs.filter(isOwn)
  const name = names.fixed.bind(names)
  const jump = (hook: string, match = ''): string =>
    `${hook} -m conntrack --ctstate NEW${match && ` ${match}`} -j `
  const routed = ['FORWARD', 'OUTPUT'].flatMap(hook => [
    `${jump(hook)}${name('PROXY-FIREWALL')}`,
    `${jump(hook)}${name('EXTERNAL-SERVICES')}`,
    `${jump(hook)}${name('SERVICES')}`,
    ...services.map(cidr => `${jump(hook, `-d ${cidr}`)}${name('CLUSTER-IPS')}`),
  ])
  return {
    chains: new Map([
      // Kernels rate limit ICMP unreachable messages, but not TCP resets.
      [name('REJECT'), ['-p tcp -j REJECT --reject-with tcp-reset', '-j REJECT']],
      [name('SERVICES'), []],
      [name('EXTERNAL-SERVICES'), []],
      [name('PROXY-FIREWALL'), []],
      [name('CLUSTER-IPS'), ['-j DROP']],
      [name('NODEPORTS'), []],
      [name('NODEPORT-ADDRESSES'), nodePortRules(family, network, names)],
      // With `route_localnet` the kernel would deliver packets of other hosts to loopback addresses: CVE-2020-8558.
      [
        name('FIREWALL'),
        [`! -i lo -d ${loopback} -m conntrack ! --ctstate DNAT,ESTABLISHED,RELATED -j DROP`],
      ],
    ]),
    jumps: [
      `INPUT -j ${name('FIREWALL')}`,
      `${jump('INPUT')}${name('PROXY-FIREWALL')}`,
      `${jump('INPUT')}${name('NODEPORT-ADDRESSES')}`,
      `${jump('INPUT')}${name('EXTERNAL-SERVICES')}`,
      ...routed,
    ],
  }
}

function nodePortRules(family: IpFamily, network: ProxyNetwork, names: ChainNames): readonly string[] {
  const { loopback, isOwn } = tableFamily(family)
  const own = network.nodeAddresses.filter(isOwn)
  const chosen = network.nodePortAddresses?.filter(isOwn)
  const others = [loopback, ...(network.foreignAddresses ?? []).filter(isOwn)]
  const to = `-j ${names.fixed('NODEPORTS')}`
  const local = '-m addrtype --dst-type LOCAL'
  return [
    ...own.map(address => `-d ${address} ${to}`),
    ...(chosen?.map(cidr => `-d ${cidr} ${local} ${to}`) ?? [
      ...others.map(cidr => `-d ${cidr} -j RETURN`),
      `${local} ${to}`,
    ]),
  ]
}
