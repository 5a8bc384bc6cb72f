import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import { objectId } from '#/nftables/objects.ts'
import type { Fragment } from '#/nftables/ruleset.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { ProxyNetwork } from '../proxier.ts'
import type { ServiceEndpoint, Destination, PortPlan } from '../plan.ts'
import { masqueradeMark } from './base-rules.ts'

/** The nftables objects for one port of a service, in the table of its family. */
export function fragmentOf(plan: PortPlan, network: ProxyNetwork): Fragment {
  const objects = new Map<string, string>()
  const { clusterIp, protocol, port } = plan
  objects.set(objectId('element', 'cluster-ips', clusterIp), '')
  const at = (address: string): string => `${address} . ${protocol} . ${port}`
  addInternal(objects, plan, at(clusterIp))
  addExternal(objects, plan, at)
  if (isExternal(plan) && plan.external !== 'reject') {
    objects.set(objectId('chain', chainOf('external', plan)), externalRules(plan, network))
  }
  if (plan.loadBalancerIps.length > 0 && plan.loadBalancerSourceRanges.length > 0)
    addFirewall(objects, plan, network)
  const { cluster, local } = plan.endpoints
  addPolicy(objects, plan, { name: 'cluster', backends: cluster })
  addPolicy(objects, plan, { name: 'local', backends: local })
  const used = new Map([...cluster, ...local].map(backend => [`${backend.address} ${backend.port}`, backend]))
  for (const backend of used.values()) addBackend(objects, plan, backend)
  return objects
}

type Objects = Map<string, string>

function isExternal({ externalIps, loadBalancerIps, nodePort }: PortPlan): boolean {
  return externalIps.length > 0 || loadBalancerIps.length > 0 || nodePort !== undefined
}

/** `cluster/default/web/tcp/http`: readable in listings. */
function chainOf(what: 'cluster' | 'local' | 'external' | 'firewall', { id }: PortPlan): string {
  return `${what}/${nameOf(id)}`
}

function backendName(
  what: 'endpoint' | 'affinity',
  { id }: PortPlan,
  { address, port }: ServiceEndpoint,
): string {
  return `${what}/${nameOf(id)}/${address.replaceAll(':', '.')}/${port}`
}

/** Replaces characters that are invalid in nftables names. API validation admits none of them. */
function nameOf(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9/._-]/g, '_')
}

const refusals: Readonly<Partial<Record<Destination, string>>> = { reject: 'goto reject-all', drop: 'drop' }

function addInternal(objects: Objects, plan: PortPlan, at: string): void {
  const { internal } = plan
  const refusal = refusals[internal]
  if (refusal !== undefined) objects.set(objectId('element', 'no-endpoint-services', at), refusal)
  else objects.set(objectId('element', 'service-ips', at), `goto ${internal}/${nameOf(plan.id)}`)
}

/**
 * With `drop`, external clients are dropped, but pods and the node itself are still served through the
 * external chain.
 */
function addExternal(objects: Objects, plan: PortPlan, at: (address: string) => string): void {
  const { externalIps, loadBalancerIps, nodePort, protocol, external } = plan
  const refusal = refusals[external]
  const verdict = `goto ${chainOf('external', plan)}`
  for (const address of [...externalIps, ...loadBalancerIps]) {
    if (external !== 'reject') objects.set(objectId('element', 'service-ips', at(address)), verdict)
    if (refusal) objects.set(objectId('element', 'no-endpoint-services', at(address)), refusal)
  }
  if (nodePort === undefined) return
  const key = `${protocol} . ${nodePort}`
  if (external !== 'reject') objects.set(objectId('element', 'service-nodeports', key), verdict)
  if (refusal) objects.set(objectId('element', 'no-endpoint-nodeports', key), refusal)
}

/**
 * With the policy Cluster the endpoint may be on another node, so traffic is masqueraded to return through
 * this node. With the policy Local, external clients keep their source address.
 */
function externalRules(plan: PortPlan, network: ProxyNetwork): string {
  const { external } = plan
  const clusterChain = chainOf('cluster', plan)
  if (external === 'cluster') return [masqueradeMark, `goto ${clusterChain}`].join('\n')
  const { name, isOwn } = tableFamily(plan.family)
  const pods = network.podCidrs.filter(isOwn)
  return [
    ...(pods.length > 0 ? [`${name} saddr { ${pods.join(', ')} } goto ${clusterChain}`] : []),
    `fib saddr type local ${masqueradeMark}`,
    `fib saddr type local goto ${clusterChain}`,
    ...(external === 'local' ? [`goto ${chainOf('local', plan)}`] : []),
  ].join('\n')
}

function addFirewall(objects: Objects, plan: PortPlan, network: ProxyNetwork): void {
  const { loadBalancerIps, loadBalancerSourceRanges, protocol, port } = plan
  const { name, isOwn } = tableFamily(plan.family)
  const ranges = loadBalancerSourceRanges.flatMap(text => parseCidr(text) ?? [])
  const isAllowed = (address: string): boolean => {
    const ip = parseIp(address)
    return ip !== undefined && ranges.some(range => cidrContains(range, ip))
  }
  // A node that has the load balancer's address on an interface uses it as the source address.
  const own = network.nodeAddresses.filter(isOwn).some(isAllowed) ? loadBalancerIps : []
  const sources = [...loadBalancerSourceRanges, ...own.filter(address => !isAllowed(address))]
  const chain = chainOf('firewall', plan)
  objects.set(objectId('chain', chain), `${name} saddr != { ${sources.join(', ')} } drop`)
  for (const address of loadBalancerIps) {
    objects.set(objectId('element', 'firewall-ips', `${address} . ${protocol} . ${port}`), `goto ${chain}`)
  }
}

interface Policy {
  readonly name: 'cluster' | 'local'
  readonly backends: readonly ServiceEndpoint[]
}

function addPolicy(objects: Objects, plan: PortPlan, { name, backends }: Policy): void {
  if (backends.length === 0) return
  const chain = objectId('chain', chainOf(name, plan))
  objects.set(chain, plan.affinitySeconds === undefined ? spread(plan, backends) : remembered(plan, backends))
}

/**
 * Maximum number of endpoints with one rule each. A map within a rule keeps the rule's length constant, but
 * the kernel validates all maps of a table for each new one: with one map for each of ten thousand services
 * that takes half a minute.
 */
const rulesMax = 16

function spread({ family, protocol }: PortPlan, backends: readonly ServiceEndpoint[]): string {
  if (backends.length > rulesMax) {
    const choices = backends.map(({ address, port }, index) => `${index} : ${address} . ${port}`).join(', ')
    const choice = `numgen random mod ${backends.length} map { ${choices} }`
    return `meta l4proto ${protocol} dnat ${tableFamily(family).name} addr . port to ${choice}`
  }
  return inTurn(backends.map(backend => `dnat to ${socketOf(backend)}`))
    .map(rule => `meta l4proto ${protocol} ${rule}`)
    .join('\n')
}

/** Session affinity: clients in an affinity set go to its endpoint; others are distributed randomly. */
function remembered(plan: PortPlan, backends: readonly ServiceEndpoint[]): string {
  const { name } = tableFamily(plan.family)
  const verdicts = backends.map(backend => `goto ${backendName('endpoint', plan, backend)}`)
  const known = backends.map((backend, index) => {
    return `${name} saddr @${backendName('affinity', plan, backend)} ${verdicts[index]}`
  })
  const choices = verdicts.map((verdict, index) => `${index} : ${verdict}`).join(', ')
  const chances =
    backends.length > rulesMax
      ? [`numgen random mod ${backends.length} vmap { ${choices} }`]
      : inTurn(verdicts)
  return [...known, ...chances].join('\n')
}

/** Each rule takes its equal share of the packets left by the previous ones; the last takes the rest. */
function inTurn(verdicts: readonly string[]): readonly string[] {
  return verdicts.map((verdict, index) => {
    const left = verdicts.length - index
    return left === 1 ? verdict : `numgen random mod ${left} 0 ${verdict}`
  })
}

function addBackend(objects: Objects, plan: PortPlan, backend: ServiceEndpoint): void {
  const { protocol, affinitySeconds } = plan
  const { name, address: addressType } = tableFamily(plan.family)
  const { address, port, isLocal } = backend
  // Hairpin: a pod that reaches itself through a service would respond to itself directly, bypassing the
  // reverse translation.
  const hairpin = `${address} . ${address} . ${protocol} . ${port}`
  if (isLocal) objects.set(objectId('element', 'hairpin-connections', hairpin), '')
  if (affinitySeconds === undefined) return
  const set = backendName('affinity', plan, backend)
  objects.set(objectId('set', set), `type ${addressType} ; flags dynamic,timeout ;`)
  const rules = [
    `update @${set} { ${name} saddr timeout ${affinitySeconds}s }`,
    `meta l4proto ${protocol} dnat to ${socketOf(backend)}`,
  ]
  objects.set(objectId('chain', backendName('endpoint', plan, backend)), rules.join('\n'))
}

function socketOf({ address, port }: ServiceEndpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
