import { annotationOf } from '#/api/metadata.ts'
import type { Service } from '#/api/generated/core/v1.ts'
import { formatIp, parseIp, type Ip, type IpFamily } from '#/api/net/ip.ts'
import { familiesOf, isAdmitted, isBuggyIp, type AddressPool } from './pools.ts'
import { addressesIn, isInRanges } from './ranges.ts'
import { canShare } from './sharing.ts'

const poolAnnotation = 'k8ts.io/address-pool'
const requestedIpsAnnotation = 'k8ts.io/load-balancer-ips'

export interface AddressWorld {
  readonly service: Service
  /** In order of preference. */
  readonly pools: readonly AddressPool[]
  /** Addresses in the service's status, or allocated and not yet visible there. */
  readonly current: readonly string[]
  /** The pool of the current addresses; undefined if they are not from a pool. */
  readonly currentPool: string | undefined
  /** Other services that have the address. */
  readonly holdersOf: (address: string) => readonly Holder[]
  /** Addresses of other services with the same sharing key. */
  readonly shareable: readonly string[]
}

export interface Holder {
  readonly key: string
  readonly service: Service
  /** True if it has been created before the service. */
  readonly isOlder: boolean
}

export type AddressPlan =
  | {
      readonly addresses: readonly string[]
      readonly pool: string
      /** Kept addresses that are in no pool: the pools have been changed. */
      readonly outside: readonly string[]
      readonly problem?: undefined
    }
  | { readonly problem: string }

/**
 * One address for each IP family of the service for which a pool has ranges. A current address is kept unless the
 * service requests another address or pool, also when its pool has lost it. Others are the requested ones, those shared
 * with another service, or free ones.
 */
export function planAddresses(world: AddressWorld): AddressPlan {
  const request = readRequest(world.service)
  if ('problem' in request) return request
  const chosen = choosePools(world, request)
  if ('problem' in chosen) return chosen
  const kept = keptAddresses(world, request)
  const missing = request.families.filter(family => !kept.has(family))
  if (missing.length === 0) return planned(world, request, { addresses: kept, pool: undefined })
  const problems: string[] = []
  for (const pool of chosen.pools) {
    const found = allocate(world, { request, pool, kept, missing })
    if (!('problem' in found)) return planned(world, request, { addresses: found, pool: pool.name })
    problems.push(found.problem)
  }
  if (kept.size > 0 && !request.requiresAll)
    return planned(world, request, { addresses: kept, pool: undefined })
  return { problem: problems[0] ?? noPool(request) }
}

interface Request {
  readonly families: readonly IpFamily[]
  /** True if one address of each family is required. */
  readonly requiresAll: boolean
  readonly ips: ReadonlyMap<IpFamily, Ip>
  readonly pool: string | undefined
}

interface Problem {
  readonly problem: string
}

type Addresses = ReadonlyMap<IpFamily, string>

function readRequest(service: Service): Request | Problem {
  const { ipFamilies = ['IPv4'], ipFamilyPolicy, loadBalancerIP = '' } = service.spec ?? {}
  const families = ipFamilies.map((family): IpFamily => (family === 'IPv6' ? 6 : 4))
  const annotated = annotationOf(service, requestedIpsAnnotation) ?? ''
  if (loadBalancerIP !== '' && annotated !== '')
    return { problem: `spec.loadBalancerIP and the annotation ${requestedIpsAnnotation} are both set` }
  const field = annotated === '' ? 'loadBalancerIP' : `annotation ${requestedIpsAnnotation}:`
  const ips = new Map<IpFamily, Ip>()
  for (const text of `${loadBalancerIP}${annotated}`.split(',').map(each => each.trim())) {
    if (text === '') continue
    const ip = parseIp(text)
    if (ip === undefined) return { problem: `invalid ${field} ${text}` }
    if (!families.includes(ip.family))
      return { problem: `the IP family of ${field} ${text} is not in ipFamilies of the service` }
    if (ips.has(ip.family)) return { problem: `${field} ${text} is the second IPv${ip.family} address` }
    ips.set(ip.family, ip)
  }
  const requiresAll = ipFamilyPolicy === 'RequireDualStack'
  return { families, requiresAll, ips, pool: annotationOf(service, poolAnnotation) }
}

/** The pools from which the service may get addresses. */
function choosePools({ service, pools }: AddressWorld, { ips, pool: name }: Request): Problem | Chosen {
  if (name !== undefined) {
    const named = pools.find(pool => pool.name === name)
    if (named === undefined) return { problem: `there is no address pool ${name}` }
    if (isAdmitted(named, service)) return { pools: [named] }
    return {
      problem: `address pool ${name} does not admit the service: check its namespaces and serviceSelector`,
    }
  }
  const admitted = pools.filter(pool => isAdmitted(pool, service))
  if (ips.size === 0) return { pools: admitted.filter(({ autoAssign }) => autoAssign) }
  return { pools: admitted.filter(({ ranges }) => [...ips.values()].some(ip => isInRanges(ranges, ip))) }
}

interface Chosen {
  readonly pools: readonly AddressPool[]
}

function noPool({ families, ips }: Request): string {
  const [ip] = ips.values()
  if (ip !== undefined) return `${formatIp(ip)} is not in an address pool for the service`
  return `no address pool assigns ${families.map(family => `IPv${family}`).join(' or ')} addresses to the service`
}

function keptAddresses(
  { service, current, currentPool, pools, holdersOf }: AddressWorld,
  request: Request,
): Addresses {
  const kept = new Map<IpFamily, string>()
  for (const address of current) {
    const ip = parseIp(address)
    if (ip === undefined || !request.families.includes(ip.family) || kept.has(ip.family)) continue
    const requested = request.ips.get(ip.family)
    if (requested !== undefined && formatIp(requested) !== address) continue
    const pool = pools.find(({ ranges }) => isInRanges(ranges, ip))?.name ?? currentPool
    if (pool === undefined || (request.pool !== undefined && request.pool !== pool)) continue
    if (isLost(address, { service, holdersOf })) continue
    kept.set(ip.family, address)
  }
  return kept
}

/** True if an older service has the address, too, and does not share it. */
export function isLost(
  address: string,
  { service, holdersOf }: Pick<AddressWorld, 'service' | 'holdersOf'>,
): boolean {
  return holdersOf(address).some(({ isOlder, service: other }) => isOlder && !canShare(service, other))
}

interface Allocation {
  readonly request: Request
  readonly pool: AddressPool
  readonly kept: Addresses
  readonly missing: readonly IpFamily[]
}

/** Allocates the missing addresses from a pool. */
function allocate(world: AddressWorld, { request, pool, kept, missing }: Allocation): Addresses | Problem {
  const families = familiesOf(pool)
  const offered = missing.filter(family => families.has(family))
  const isIncomplete = request.requiresAll && offered.length < missing.length
  if (offered.length === 0 || isIncomplete) {
    const lacking = missing.filter(family => !families.has(family)).map(family => `IPv${family}`)
    return { problem: `address pool ${pool.name} has no ${lacking.join(' or ')} range` }
  }
  const addresses = new Map(kept)
  for (const family of offered) {
    const requested = request.ips.get(family)
    const found = requested ? useRequested(world, pool, requested) : findFree(world, pool, family)
    if (typeof found !== 'string') return found
    addresses.set(family, found)
  }
  return addresses
}

function useRequested(world: AddressWorld, pool: AddressPool, requested: Ip): string | Problem {
  const address = formatIp(requested)
  if (!isInRanges(pool.ranges, requested))
    return { problem: `${address} is not in address pool ${pool.name}` }
  const holder = obstacle(world, address)
  return holder ? { problem: `${address} is already allocated to service ${holder.key}` } : address
}

function findFree(
  world: AddressWorld,
  { name, ranges, avoidBuggyIps }: AddressPool,
  family: IpFamily,
): string | Problem {
  const shared = world.shareable.find(address => {
    const ip = parseIp(address)
    return ip?.family === family && isInRanges(ranges, ip) && obstacle(world, address) === undefined
  })
  if (shared !== undefined) return shared
  for (const ip of addressesIn(ranges.filter(({ first }) => first.family === family))) {
    if (avoidBuggyIps && isBuggyIp(ip)) continue
    const address = formatIp(ip)
    if (world.holdersOf(address).length === 0) return address
  }
  return { problem: `no free IPv${family} address in address pool ${name}` }
}

function obstacle({ service, holdersOf }: AddressWorld, address: string): Holder | undefined {
  return holdersOf(address).find(holder => !canShare(service, holder.service))
}

function planned(
  { pools, currentPool }: AddressWorld,
  { families }: Request,
  { addresses, pool }: { readonly addresses: Addresses; readonly pool: string | undefined },
): AddressPlan {
  const ordered = families.flatMap(family => addresses.get(family) ?? [])
  const poolOf = (address: string): string | undefined => {
    const ip = parseIp(address)
    return ip && pools.find(({ ranges }) => isInRanges(ranges, ip))?.name
  }
  const names = ordered.flatMap(address => poolOf(address) ?? [])
  const outside = ordered.filter(address => poolOf(address) === undefined)
  return { addresses: ordered, pool: pool ?? names[0] ?? currentPool ?? '', outside }
}
