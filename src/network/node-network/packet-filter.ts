/** The nftables and iptables rules of a node: masquerading, and forwarding of the cluster's packets. */
import type { NodeAddressing } from '../cluster-network.ts'

/**
 * Plans the iptables calls that allow forwarding of the cluster's packets; each is the parameters of one
 * call. `rules` are the lines of `iptables -S`. Uses Docker's `DOCKER-USER` chain if it exists; otherwise the
 * FORWARD chain if its policy is DROP.
 */
export function planForwarding(
  rules: readonly string[],
  network: NodeAddressing,
): readonly (readonly string[])[] {
  const chain = chainFor(rules)
  if (chain === undefined) return []
  const ranges = rangesOf(network).filter(cidr => !cidr.includes(':'))
  const matches = ranges.flatMap(cidr => [
    ['-s', cidr],
    ['-d', cidr],
  ])
  const wanted = matches.map(match => [
    ...match,
    '-m',
    'comment',
    '--comment',
    network.bridge,
    '-j',
    'ACCEPT',
  ])
  const has = new Set(rules.map(withoutQuotes))
  return wanted
    .filter(rule => !has.has(['-A', chain, ...rule].join(' ')))
    .map(rule => ['-I', chain, '1', ...rule])
}

/** Plans the removal of all rules of this cluster, in any chain. */
export function planForwardingRemoval(
  rules: readonly string[],
  network: NodeAddressing,
): readonly (readonly string[])[] {
  const mark = ` -m comment --comment ${network.bridge} -j ACCEPT`
  return rules
    .map(withoutQuotes)
    .filter(rule => rule.startsWith('-A ') && rule.endsWith(mark))
    .map(rule => ['-D', ...rule.split(' ').slice(1)])
}

function chainFor(rules: readonly string[]): string | undefined {
  if (rules.includes('-N DOCKER-USER')) return 'DOCKER-USER'
  return rules.includes('-P FORWARD DROP') ? 'FORWARD' : undefined
}

/**
 * Some versions of iptables quote every comment, others only those with spaces. The comments used here have
 * none.
 */
function withoutQuotes(rule: string): string {
  return rule.replaceAll('"', '')
}

/**
 * Masquerades traffic of pods and nodes that leaves the cluster; within the cluster source addresses are
 * preserved. Replaces the table in one transaction.
 *
 * `bridgeAddress` is the MAC address of the node's own bridge, if it has one. With bridge-nf-call-iptables, frames
 * between ports of the bridge pass the rules of this node, too. They are not tracked: this node must not translate
 * packets for a load balancer address of another node.
 */
export function masqueradeTable(network: NodeAddressing, bridgeAddress?: string): string {
  const { podCidrs, bridge } = network
  const ipv4 = rangesOf(network).filter(cidr => !cidr.includes(':'))
  const ipv6 = podCidrs.filter(cidr => cidr.includes(':'))
  return [deleteMasqueradeTable(network), ...tableOf('ip', ipv4), ...tableOf('ip6', ipv6), ''].join('\n')

  function tableOf(family: 'ip' | 'ip6', cidrs: readonly string[]): readonly string[] {
    if (cidrs.length === 0) return []
    const table = `${family} ${network.tables.network}`
    const ranges = `{ ${cidrs.join(', ')} }`
    const leaves = `${family} saddr ${ranges} ${family} daddr != ${ranges} oifname != "${bridge}"`
    return [
      `add table ${table} { comment "k8ts: masquerade egress of ${bridge}" ; }`,
      `add chain ${table} postrouting { type nat hook postrouting priority srcnat ; }`,
      `add rule ${table} postrouting ${leaves} masquerade fully-random`,
      ...(bridgeAddress === undefined
        ? []
        : [
            `add chain ${table} prerouting { type filter hook prerouting priority raw ; }`,
            `add rule ${table} prerouting iifname "${bridge}" ether daddr != ${bridgeAddress} notrack`,
          ]),
    ]
  }
}

/**
 * The same masquerading with iptables, where `nft` cannot work: input of `iptables-restore --noflush` or its IPv6
 * counterpart. `rules` are the lines of `-S` of the table nat; empty if the cluster has no address of the family.
 */
export function planIptablesMasquerade(
  rules: readonly string[],
  network: NodeAddressing,
  family: 4 | 6,
): readonly string[] {
  const ranges = rangesOf(network).filter(cidr => cidr.includes(':') === (family === 6))
  if (ranges.length === 0) return []
  const chain = masqueradeChain(network)
  const own = [
    `-o ${network.bridge} -j RETURN`,
    ...ranges.map(cidr => `-d ${cidr} -j RETURN`),
    ...ranges.map(cidr => `-s ${cidr} -j MASQUERADE --random-fully`),
  ]
  const jump = `POSTROUTING -j ${chain}`
  return [
    `:${chain} - [0:0]`,
    ...own.map(rule => `-A ${chain} ${rule}`),
    ...(rules.includes(`-A ${jump}`) ? [] : [`-A ${jump}`]),
  ]
}

export function planIptablesMasqueradeRemoval(
  rules: readonly string[],
  network: NodeAddressing,
): readonly string[] {
  const chain = masqueradeChain(network)
  if (!rules.includes(`-N ${chain}`)) return []
  const jump = `POSTROUTING -j ${chain}`
  return [
    ...rules.filter(rule => rule === `-A ${jump}`).map(() => `-D ${jump}`),
    `-F ${chain}`,
    `-X ${chain}`,
  ]
}

/** Bridges have names of at most 15 characters, chains of 28. */
function masqueradeChain({ bridge }: NodeAddressing): string {
  return `${bridge.toUpperCase()}-MASQUERADE`
}

/** The addresses that only the cluster has. */
function rangesOf({ nodeCidr, podCidrs }: NodeAddressing): readonly string[] {
  return nodeCidr === undefined ? podCidrs : [nodeCidr, ...podCidrs]
}

/** Adding the table first makes the deletion succeed whether or not it exists. */
function deleteMasqueradeTable({ tables: { network } }: NodeAddressing): string {
  const commands = ['ip', 'ip6'].flatMap(family => {
    return [`add table ${family} ${network}`, `delete table ${family} ${network}`]
  })
  return commands.join('\n')
}
