import type { Service } from '#/api/generated/core/v1.ts'
import { formatIp, parseIp, type Ip, type IpFamily } from '#/api/net/ip.ts'
import { addressesIn, isInRanges, type AddressRange } from './ranges.ts'

export interface AddressWorld {
  readonly service: Service
  readonly ranges: readonly AddressRange[]
  /** Addresses in the service's status, or allocated and not yet visible there. */
  readonly current: readonly string[]
  /** Key of another service that has the address. */
  readonly allocatedTo: (address: string) => string | undefined
  /** Key of an older service that has the address. */
  readonly allocatedToOlder: (address: string) => string | undefined
}

export type AddressPlan =
  | { readonly addresses: readonly string[]; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * One address for each IP family of the service that the pool has ranges of: `loadBalancerIP`, the current
 * address, or a free one.
 */
export function planAddresses(world: AddressWorld): AddressPlan {
  const { service, ranges } = world
  const { ipFamilies = ['IPv4'], loadBalancerIP } = service.spec ?? {}
  const requested = loadBalancerIP ? parseIp(loadBalancerIP) : undefined
  if (loadBalancerIP && requested === undefined)
    return { problem: `invalid loadBalancerIP ${loadBalancerIP}` }
  const families = ipFamilies.map((family): IpFamily => (family === 'IPv6' ? 6 : 4))
  if (requested && !families.includes(requested.family)) {
    return {
      problem: `the IP family of loadBalancerIP ${loadBalancerIP} is not in ipFamilies of the service`,
    }
  }
  const offered = families.filter(family => ranges.some(({ first }) => first.family === family))
  if (offered.length === 0) return { problem: `the address pool has no ${ipFamilies.join(' or ')} range` }
  const addresses: string[] = []
  for (const family of offered) {
    const found = requested?.family === family ? planRequested(world, requested) : planAny(world, family)
    if ('problem' in found) return found
    addresses.push(found.address)
  }
  return { addresses }
}

type Found = { readonly address: string } | { readonly problem: string }

function planRequested(
  { ranges, current, allocatedTo, allocatedToOlder }: AddressWorld,
  requested: Ip,
): Found {
  const address = formatIp(requested)
  if (!isInRanges(ranges, requested)) return { problem: `${address} is not in the address pool` }
  const owner = current.includes(address) ? allocatedToOlder(address) : allocatedTo(address)
  return owner === undefined
    ? { address }
    : { problem: `${address} is already allocated to service ${owner}` }
}

function planAny({ ranges, current, allocatedTo, allocatedToOlder }: AddressWorld, family: IpFamily): Found {
  const kept = current.find(address => {
    const ip = parseIp(address)
    return ip?.family === family && isInRanges(ranges, ip) && allocatedToOlder(address) === undefined
  })
  if (kept !== undefined) return { address: kept }
  for (const ip of addressesIn(ranges.filter(({ first }) => first.family === family))) {
    const address = formatIp(ip)
    if (allocatedTo(address) === undefined) return { address }
  }
  return { problem: `no free IPv${family} address in the pool` }
}
