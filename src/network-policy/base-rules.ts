/** The words of the tables of network policies that do not depend on policies. */
import type { IpFamily } from '#/api/net/ip.ts'
import { tableFamily } from '#/nftables/table-family.ts'

/**
 * The part of the table that does not depend on policies. Each direction has a base chain of its own, so that `accept`
 * in the first one leaves the decision to the second. They see forwarded packets only: traffic between a pod and its
 * own node is always allowed. A packet is judged by the tuple of its connection, so that responses and ICMP errors
 * are allowed as long as the connection is, and a new policy ends established connections.
 */
export function baseRules(family: IpFamily, tableName: string): readonly string[] {
  const { name, address } = tableFamily(family)
  const table = `${name} ${tableName}`
  const chains = [
    ['egress', clientOf(family), 'saddr'],
    ['ingress', serverOf(family), 'daddr'],
  ] as const
  return [
    `add table ${table} { comment "k8ts: network policies" ; }`,
    `add set ${table} node-pod-cidrs { type ${address} ; flags interval ; }`,
    `add set ${table} self { type ${address} . ${address} ; }`,
    ...chains.map(([chain], index) => {
      return `add chain ${table} filter-${chain} { type filter hook forward priority ${priority + index} ; }`
    }),
    ...chains.map(([chain]) => `add map ${table} ${chain}-pods { type ${address} : verdict ; }`),
    ...chains.flatMap(([chain, endpoint, field]) =>
      [
        // Without a connection no rule of a policy matches, and packets of isolated pods are dropped.
        `ct state invalid,untracked ${name} ${field} vmap @${chain}-pods`,
        `ct state invalid,untracked ${name} ${field} @node-pod-cidrs drop`,
        `${endpoint} vmap @${chain}-pods`,
        // Of a pod of this node that is not known yet.
        `${endpoint} @node-pod-cidrs drop`,
      ].map(rule => `add rule ${table} filter-${chain} ${rule}`),
    ),
  ]
}

/** After the service proxy, which rejects connections to services without endpoints. */
const priority = 10

/** The addresses of a connection: its client, and its server after the destination of a service was replaced. */
export function clientOf(family: IpFamily): string {
  return `ct original ${tableFamily(family).name} saddr`
}

export function serverOf(family: IpFamily): string {
  return `ct reply ${tableFamily(family).name} saddr`
}
