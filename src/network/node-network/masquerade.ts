import type { ClusterNetwork } from '../cluster-network.ts'

/**
 * Masquerades traffic of pods and nodes that leaves the cluster; within the cluster source addresses are
 * preserved. Replaces the table in one transaction.
 */
export function masqueradeTable(network: ClusterNetwork): string {
  const { nodeCidr, podCidrs, bridge } = network
  const ipv4 = [nodeCidr, ...podCidrs].filter(cidr => !cidr.includes(':'))
  const ipv6 = podCidrs.filter(cidr => cidr.includes(':'))
  return [deleteMasqueradeTable(network), ...tableOf('ip', ipv4), ...tableOf('ip6', ipv6), ''].join('\n')

  function tableOf(family: 'ip' | 'ip6', cidrs: readonly string[]): readonly string[] {
    if (cidrs.length === 0) return []
    const table = `${family} ${network.tables.network}`
    const ranges = `{ ${cidrs.join(', ')} }`
    const leaves = `${family} saddr ${ranges} ${family} daddr != ${ranges} oifname != "${bridge}"`
    return [
      `add table ${table} { comment "k8ts: masquerade egress of cluster ${network.slot}" ; }`,
      `add chain ${table} postrouting { type nat hook postrouting priority srcnat ; }`,
      `add rule ${table} postrouting ${leaves} masquerade fully-random`,
    ]
  }
}

/** Adding the table first makes the deletion succeed whether or not it exists. */
export function deleteMasqueradeTable({ tables: { network } }: ClusterNetwork): string {
  const commands = ['ip', 'ip6'].flatMap(family => {
    return [`add table ${family} ${network}`, `delete table ${family} ${network}`]
  })
  return commands.join('\n')
}
