/**
 * Decides which node announces which load balancer address, with rendezvous hashing: every node and address have
 * a score, and the eligible node with the highest score owns the address. All nodes decide the same from the same
 * objects, and an address moves only when its owner is no longer eligible or a node with a higher score becomes
 * eligible.
 */
import { isTrue } from '#/api/conditions.ts'
import { allocatedFromPoolAnnotation, isExcludedFromLoadBalancers } from '#/api/core/load-balancers.ts'
import type { Node, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { annotationOf, isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { formatIp, parseIp, validateNonSpecialIp, type Ip } from '#/api/net/ip.ts'

export interface AnnouncementWorld {
  readonly services: readonly Service[]
  readonly nodes: readonly Node[]
  /** Endpoint slices of a service, by its key. Used for `externalTrafficPolicy: Local`. */
  readonly slicesOf: (serviceKey: string) => readonly EndpointSlice[]
}

export interface Announcement {
  readonly address: string
  /** Several if they share the address. */
  readonly services: readonly Service[]
  /** The node that announces the address; undefined if no node can. */
  readonly owner: string | undefined
}

/** In order of the addresses. */
export function planAnnouncements({ services, nodes, slicesOf }: AnnouncementWorld): readonly Announcement[] {
  const eligible = nodes
    .filter(isAnnouncingNode)
    .map(({ metadata: { name = '' } }) => ({ name, hash: hash(name) }))
  const ofNodes = new Set(nodes.flatMap(({ status }) => (status?.addresses ?? []).map(each => each.address)))
  const byAddress = new Map<string, { readonly ip: Ip; readonly services: Service[] }>()
  for (const service of services) {
    for (const ip of announcedAddresses(service)) {
      const address = formatIp(ip)
      // An address of a node is never taken over, whatever the status of a service says.
      if (ofNodes.has(address)) continue
      const known = byAddress.get(address)
      if (known) known.services.push(service)
      else byAddress.set(address, { ip, services: [service] })
    }
  }
  return [...byAddress].toSorted(compareKeys).map(([address, { ip, services: sharing }]) => {
    const local = sharing
      .filter(({ spec }) => spec?.externalTrafficPolicy === 'Local')
      .map(service => nodesWithEndpoints(slicesOf(keyOf(service)), ip))
    const candidates = eligible.filter(({ name }) => local.every(names => names.has(name)))
    return { address, services: sharing.toSorted(compareServices), owner: highest(candidates, address) }
  })
}

/** Addresses of the address pools of k8ts; those of other implementations have no annotation. */
export function announcedAddresses(service: Service): readonly Ip[] {
  const { spec, status } = service
  if (spec?.type !== 'LoadBalancer' || annotationOf(service, allocatedFromPoolAnnotation) === undefined)
    return []
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip: text = '', ipMode = 'VIP' }) => {
    const ip = ipMode === 'VIP' ? parseIp(text) : undefined
    const isUnicast = ip && !multicast.some(cidr => cidrContains(cidr, ip))
    return isUnicast && validateNonSpecialIp('ip', text).length === 0 ? [ip] : []
  })
}

/** With the reserved IPv4 addresses above. */
const multicast = ['224.0.0.0/3', 'ff00::/8'].flatMap(text => parseCidr(text) ?? [])

function isAnnouncingNode(node: Node): boolean {
  const conditions = node.status?.conditions
  return isTrue(conditions, 'Ready') && !isTrue(conditions, 'NetworkUnavailable') && mayBecomeOwner(node)
}

/** True if the node can own addresses while it is Ready. */
export function mayBecomeOwner(node: Node): boolean {
  return !isExcludedFromLoadBalancers(node) && !isBeingDeleted(node)
}

/** The part of a node that announcements depend on. */
export function announcementFacts(node: Node): string {
  return JSON.stringify([isAnnouncingNode(node), mayBecomeOwner(node), node.status?.addresses])
}

/** Nodes with a ready endpoint of the family of the address. */
function nodesWithEndpoints(slices: readonly EndpointSlice[], { family }: Ip): ReadonlySet<string> {
  const names = slices
    .filter(({ addressType }) => addressType === `IPv${family}`)
    .flatMap(({ endpoints }) => endpoints ?? [])
    .flatMap(({ nodeName, conditions }) => (conditions?.ready === false ? [] : (nodeName ?? [])))
  return new Set(names)
}

interface Candidate {
  readonly name: string
  readonly hash: number
}

function highest(candidates: readonly Candidate[], address: string): string | undefined {
  const addressHash = hash(address)
  let owner: Candidate | undefined
  let best = -1
  for (const candidate of candidates) {
    const score = mix(candidate.hash ^ addressHash)
    if (score < best || (score === best && owner !== undefined && owner.name < candidate.name)) continue
    owner = candidate
    best = score
  }
  return owner?.name
}

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return mix(value)
}

/** The finalizer of MurmurHash3: similar names get independent scores. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

function compareKeys([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function compareServices(a: Service, b: Service): number {
  return keyOf(a) < keyOf(b) ? -1 : 1
}
