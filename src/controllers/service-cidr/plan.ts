import {
  cidrContains,
  cidrContainsCidr,
  cidrSize,
  firstAddress,
  lastAddress,
  parseCidr,
  type Cidr,
} from '#/api/cidr.ts'
import type { IPAddress, ServiceCIDR } from '#/api/generated/networking/v1.ts'
import { compareIps, parseIp, type Ip } from '#/api/ip.ts'
import { labelOf } from '#/api/labels.ts'

const allocatorName = 'ipallocator.k8s.io'

/** Whether the ranges can do without this one: whatever is in use of it is in another too. */
export function isDispensable(
  own: ServiceCIDR,
  all: readonly ServiceCIDR[],
  addresses: readonly IPAddress[],
): boolean {
  const others = all.filter(other => other.metadata?.name !== own.metadata?.name).flatMap(rangesOf)
  const lonely = rangesOf(own).filter(range => !others.some(other => cidrContainsCidr(other, range)))
  if (lonely.length === 0) return true
  return !addresses.filter(isAllocated).some(({ metadata }) => {
    const ip = parseIp(metadata?.name ?? '')
    const isHere = ip !== undefined && rangesOf(own).some(range => holds(range, ip))
    return isHere && !others.some(range => holds(range, ip))
  })
}

/** Whether a service may have got the address from here. */
export function holdsAddress(own: ServiceCIDR, { metadata }: IPAddress): boolean {
  const ip = parseIp(metadata?.name ?? '')
  return ip !== undefined && rangesOf(own).some(range => holds(range, ip))
}

/** Addresses that somebody else keeps are none of services. */
export function isAllocated({ metadata }: IPAddress): boolean {
  return labelOf(metadata?.labels, 'ipaddress.kubernetes.io/managed-by') === allocatorName
}

/** The address of the network itself is never given out, nor in IPv4 the one that means all of it. */
function holds(range: Cidr, ip: Ip): boolean {
  if (!cidrContains(range, ip)) return false
  if (cidrSize(range) === 1n) return true
  const isLast = range.family === 4 && compareIps(ip, lastAddress(range)) === 0
  return !isLast && compareIps(ip, firstAddress(range)) !== 0
}

function rangesOf({ spec }: ServiceCIDR): readonly Cidr[] {
  return (spec?.cidrs ?? []).flatMap(text => parseCidr(text) ?? [])
}
