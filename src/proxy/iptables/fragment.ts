import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { Destination, PortPlan, ServiceEndpoint } from '../plan.ts'
import type { ProxyNetwork } from '../proxier.ts'
import type { ChainNames } from './chain-names.ts'
import { RuleObjects } from './rule-objects.ts'

/** The iptables chains and rules for one port of a service, in the tables of its family. */
export function fragmentOf(plan: PortPlan, network: ProxyNetwork, names: ChainNames): Fragment {
  const objects = new RuleObjects()
  const port = new PortRules(plan, names)
  addInternal(objects, port)
  addExternal(objects, port)
  if (port.isExternal && plan.external !== 'reject')
    objects.chain(names.hashed('EXT', plan), externalRules(port, network))
  if (port.hasFirewall) addFirewall(objects, port, network)
  const { cluster, local } = plan.endpoints
  if (cluster.length > 0) objects.chain(names.hashed('SVC', plan), policyRules(port, 'cluster'))
  if (local.length > 0) objects.chain(names.hashed('SVL', plan), policyRules(port, 'local'))
  for (const endpoint of [...cluster, ...local])
    objects.chain(names.endpoint(plan, endpoint), endpointRules(port, endpoint))
  return objects.fragment
}

/** The words of the rules of one port. */
class PortRules {
  readonly plan: PortPlan
  readonly names: ChainNames

  constructor(plan: PortPlan, names: ChainNames) {
    this.plan = plan
    this.names = names
  }

  get isExternal(): boolean {
    const { externalIps, loadBalancerIps, nodePort } = this.plan
    return externalIps.length > 0 || loadBalancerIps.length > 0 || nodePort !== undefined
  }

  /** Clients are restricted only while there are endpoints. */
  get hasFirewall(): boolean {
    const { loadBalancerIps, loadBalancerSourceRanges, external } = this.plan
    return loadBalancerIps.length > 0 && loadBalancerSourceRanges.length > 0 && external !== 'reject'
  }

  /** Matches packets to this port. */
  to(address: string | undefined, port = this.plan.port): string {
    const { protocol } = this.plan
    return `${address === undefined ? '' : `-d ${address} `}-p ${protocol} -m ${protocol} --dport ${port}`
  }

  key(address: string, port = this.plan.port): string {
    return `${address} ${this.plan.protocol} ${port}`
  }

  /** A rule in a chain of all services; the comment names this one. */
  jump(match: string, target: string): string {
    return `${match} -m comment --comment "${commentOf(this.plan)}" -j ${target}`
  }

  refusal(destination: Destination): string | undefined {
    if (destination === 'drop') return 'DROP'
    return destination === 'reject' ? this.names.fixed('REJECT') : undefined
  }
}

/** API validation admits none of the replaced characters. */
function commentOf({ id }: PortPlan): string {
  return id.replaceAll(/[^A-Za-z0-9/._-]/g, '_')
}

function addInternal(objects: RuleObjects, port: PortRules): void {
  const { plan, names } = port
  const { clusterIp, internal } = plan
  const unknownPort = port.jump(`-d ${clusterIp}`, names.fixed('REJECT'))
  objects.rule('filter', names.fixed('CLUSTER-IPS'), { key: clusterIp, rule: unknownPort })
  const refusal = port.refusal(internal)
  const target = refusal ?? names.hashed(internal === 'local' ? 'SVL' : 'SVC', plan)
  const table = refusal === undefined ? 'nat' : 'filter'
  const rule = port.jump(port.to(clusterIp), target)
  objects.rule(table, names.fixed('SERVICES'), { key: port.key(clusterIp), rule })
}

/**
 * With `drop`, external clients are dropped, but pods and the node itself are still served through the external
 * chain.
 */
function addExternal(objects: RuleObjects, port: PortRules): void {
  const { plan, names } = port
  const { externalIps, loadBalancerIps, nodePort, external } = plan
  const refusal = port.refusal(external)
  const add = (address: string, target: string): void => {
    const key = port.key(address)
    const match = port.to(address)
    if (external !== 'reject')
      objects.rule('nat', names.fixed('SERVICES'), { key, rule: port.jump(match, target) })
    if (refusal)
      objects.rule('filter', names.fixed('EXTERNAL-SERVICES'), { key, rule: port.jump(match, refusal) })
  }
  for (const address of externalIps) add(address, names.hashed('EXT', plan))
  for (const address of loadBalancerIps) add(address, names.hashed(port.hasFirewall ? 'FW' : 'EXT', plan))
  if (nodePort === undefined) return
  const nodePorts = names.fixed('NODEPORTS')
  const key = port.key('', nodePort)
  const match = port.to(undefined, nodePort)
  if (external !== 'reject')
    objects.rule('nat', nodePorts, { key, rule: port.jump(match, names.hashed('EXT', plan)) })
  if (refusal) objects.rule('filter', nodePorts, { key, rule: port.jump(match, refusal) })
}

/**
 * With the policy Cluster the endpoint may be on another node, so traffic is masqueraded to return through this node.
 * With the policy Local, external clients keep their source address.
 */
function externalRules({ plan, names }: PortRules, network: ProxyNetwork): readonly string[] {
  const { external, endpoints } = plan
  const masquerade = `-j ${names.fixed('MARK-MASQ')}`
  const cluster = `-j ${names.hashed('SVC', plan)}`
  if (external === 'cluster') return [masquerade, cluster]
  const pods = network.podCidrs.filter(tableFamily(plan.family).isOwn)
  const local = '-m addrtype --src-type LOCAL'
  return [
    ...(endpoints.cluster.length > 0
      ? [...pods.map(cidr => `-s ${cidr} ${cluster}`), `${local} ${masquerade}`, `${local} ${cluster}`]
      : []),
    ...(external === 'local' ? [`-j ${names.hashed('SVL', plan)}`] : []),
  ]
}

/** Packets of other clients are not translated, and dropped in the table `filter`. */
function addFirewall(objects: RuleObjects, port: PortRules, network: ProxyNetwork): void {
  const { plan, names } = port
  const { loadBalancerIps, loadBalancerSourceRanges } = plan
  const ranges = loadBalancerSourceRanges.flatMap(text => parseCidr(text) ?? [])
  const isAllowed = (address: string): boolean => {
    const ip = parseIp(address)
    return ip !== undefined && ranges.some(range => cidrContains(range, ip))
  }
  // A node that has the load balancer's address on an interface uses it as the source address.
  const { isOwn } = tableFamily(plan.family)
  const own = network.nodeAddresses.filter(isOwn).some(isAllowed) ? loadBalancerIps : []
  const sources = [...loadBalancerSourceRanges, ...own.filter(address => !isAllowed(address))]
  objects.chain(
    names.hashed('FW', plan),
    sources.map(source => `-s ${source} -j ${names.hashed('EXT', plan)}`),
  )
  for (const address of loadBalancerIps) {
    const rule = port.jump(port.to(address), 'DROP')
    objects.rule('filter', names.fixed('PROXY-FIREWALL'), { key: port.key(address), rule })
  }
}

/** Clients outside of the pod network may have been routed through any node: they must return through this one. */
function policyRules(port: PortRules, policy: 'cluster' | 'local'): readonly string[] {
  const { plan, names } = port
  const endpoints = plan.endpoints[policy]
  const chains = endpoints.map(endpoint => names.endpoint(plan, endpoint))
  const { affinitySeconds } = plan
  const known = `--rcheck --seconds ${affinitySeconds} --reap --rsource`
  return [
    ...(plan.internal === policy ? [`${port.to(plan.clusterIp)} -j ${names.fixed('MARK-FOREIGN')}`] : []),
    ...(affinitySeconds === undefined
      ? []
      : chains.map(chain => `-m recent --name ${chain} ${known} -j ${chain}`)),
    ...chains.map((chain, index) => {
      // Each rule takes its equal share of the packets left by the previous ones; the last takes the rest.
      const left = chains.length - index
      const chance = left === 1 ? '' : `-m statistic --mode random --probability ${(1 / left).toFixed(10)} `
      return `${chance}-j ${chain}`
    }),
  ]
}

/** A pod that reaches itself through a service is masqueraded: it would respond to itself directly. */
function endpointRules({ plan, names }: PortRules, endpoint: ServiceEndpoint): readonly string[] {
  const { address, port } = endpoint
  const { protocol, affinitySeconds, family } = plan
  const socket = family === 6 ? `[${address}]:${port}` : `${address}:${port}`
  const remember =
    affinitySeconds === undefined ? '' : `-m recent --name ${names.endpoint(plan, endpoint)} --set --rsource `
  return [
    `-s ${address} -j ${names.fixed('MARK-MASQ')}`,
    `${remember}-p ${protocol} -m ${protocol} -j DNAT --to-destination ${socket}`,
  ]
}
