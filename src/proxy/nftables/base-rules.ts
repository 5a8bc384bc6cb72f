import type { IpFamily } from '#/api/net/ip.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { ProxyNetwork } from '../proxier.ts'

/** Marks packets to be masqueraded. */
const mark = '0x4000'
export const masqueradeMark = `mark set mark or ${mark}`

/**
 * The part of the table that does not depend on services: hooks, maps to service chains, and the handling of
 * packets that match no service. DNAT is before routing; source ranges are checked before DNAT; packets to
 * services without endpoints are rejected after routing, since older kernels support `reject` only there.
 */
export function baseRules(family: IpFamily, network: ProxyNetwork): readonly string[] {
  const { name, address, loopback, isOwn } = tableFamily(family)
  const table = `${name} ${network.table}`
  const service = `${address} . inet_proto . inet_service`
  const to = `${name} daddr . meta l4proto . th dport`
  const pods = network.podCidrs.filter(isOwn)
  const services = network.serviceCidrs.filter(isOwn)
  return [
    `add table ${table} { comment "k8ts: services" ; }`,
    ...Object.entries(hooks).map(([chain, hook]) => `add chain ${table} ${chain} { type ${hook} ; }`),
    ...chains.map(chain => `add chain ${table} ${chain}`),
    `add set ${table} cluster-ips { type ${address} ; }`,
    `add set ${table} hairpin-connections { type ${address} . ${service} ; }`,
    ...['service-ips', 'no-endpoint-services', 'firewall-ips'].map(map => {
      return `add map ${table} ${map} { type ${service} : verdict ; }`
    }),
    ...['service-nodeports', 'no-endpoint-nodeports'].map(map => {
      return `add map ${table} ${map} { type inet_proto . inet_service : verdict ; }`
    }),
    ...rulesOf({
      'filter-prerouting-early': [
        // With `route_localnet` the kernel would deliver packets of other hosts to loopback addresses: CVE-2020-8558.
        `iif != lo ${name} daddr ${loopback} drop`,
        'ct state new jump firewall-check',
      ],
      'filter-output-early': ['ct state new jump firewall-check'],
      'filter-input': [
        'ct state new jump nodeport-endpoints-check',
        'ct state new jump service-endpoints-check',
      ],
      'filter-forward': ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check'],
      'filter-output': ['ct state new jump service-endpoints-check', 'ct state new jump cluster-ips-check'],
      'nat-prerouting': ['jump services'],
      'nat-output': ['jump services'],
      'nat-postrouting': [
        `mark and ${mark} != 0 mark set mark xor ${mark} masquerade fully-random`,
        `ct status dnat ${name} saddr . ${to} @hairpin-connections masquerade fully-random`,
      ],
      // Kernels rate limit ICMP unreachable messages, but not TCP resets.
      'reject-all': ['meta l4proto tcp reject with tcp reset', 'reject'],
      'firewall-check': [`${to} vmap @firewall-ips`],
      'service-endpoints-check': [`${to} vmap @no-endpoint-services`],
      'nodeport-endpoints-check': nodePortRules(family, network, 'no-endpoint-nodeports'),
      'cluster-ips-check': [
        `${name} daddr @cluster-ips goto reject-all`,
        ...(services.length > 0 ? [`${name} daddr { ${services.join(', ')} } drop`] : []),
      ],
      'services': [
        // Clients outside of the pod network may have been routed through any node: the response must return
        // through this one.
        ...(pods.length > 0
          ? [`${name} daddr @cluster-ips ${name} saddr != { ${pods.join(', ')} } ${masqueradeMark}`]
          : []),
        `${to} vmap @service-ips`,
        ...nodePortRules(family, network, 'service-nodeports'),
      ],
    }),
  ]

  function rulesOf(all: Readonly<Record<string, readonly string[]>>): readonly string[] {
    return Object.entries(all).flatMap(([chain, rules]) =>
      rules.map(rule => `add rule ${table} ${chain} ${rule}`),
    )
  }
}

/** The priorities are the standard ones of DNAT, SNAT and filter; the early filters run before DNAT. */
const hooks: Readonly<Record<string, string>> = {
  'filter-prerouting-early': 'filter hook prerouting priority -110',
  'filter-output-early': 'filter hook output priority -110',
  'filter-input': 'filter hook input priority 0',
  'filter-forward': 'filter hook forward priority 0',
  'filter-output': 'filter hook output priority 0',
  'nat-prerouting': 'nat hook prerouting priority -100',
  'nat-output': 'nat hook output priority -100',
  'nat-postrouting': 'nat hook postrouting priority 100',
}

const chains: readonly string[] = [
  'services',
  'firewall-check',
  'service-endpoints-check',
  'nodeport-endpoints-check',
  'cluster-ips-check',
  'reject-all',
]

function nodePortRules(family: IpFamily, network: ProxyNetwork, map: string): readonly string[] {
  const { name, loopback, isOwn } = tableFamily(family)
  const own = network.nodeAddresses.filter(isOwn)
  const chosen = network.nodePortAddresses?.filter(isOwn)
  const others = [loopback, ...(network.foreignAddresses ?? []).filter(isOwn)]
  const local = chosen
    ? `${name} daddr { ${chosen.join(', ')} }`
    : `${name} daddr != { ${others.join(', ')} }`
  return [
    ...(own.length > 0 ? [`${name} daddr { ${own.join(', ')} }`] : []),
    ...(chosen?.length === 0 ? [] : [`fib daddr type local ${local}`]),
  ].map(match => `${match} meta l4proto . th dport vmap @${map}`)
}
