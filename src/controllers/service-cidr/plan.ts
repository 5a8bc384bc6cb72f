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

/** True if every allocated address of this ServiceCIDR is also covered by another one. */
export function canDeleteCidr(
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

/** True if the address may have been allocated from this ServiceCIDR. */
export function holdsAddress(own: ServiceCIDR, { metadata }: IPAddress): boolean {
  const ip = parseIp(metadata?.name ?? '')
  return ip !== undefined && rangesOf(own).some(range => holds(range, ip))
}

/** IPAddresses managed by other controllers do not belong to services. */
export function isAllocated({ metadata }: IPAddress): boolean {
  return labelOf(metadata?.labels, 'ipaddress.kubernetes.io/managed-by') === allocatorName
}

/** The network address, and in IPv4 the broadcast address, are never allocated. */
function holds(range: Cidr, ip: Ip): boolean {
  if (!cidrContains(range, ip)) return false
  if (cidrSize(range) === 1n) return true
  const isLast = range.family === 4 && compareIps(ip, lastAddress(range)) === 0
  return !isLast && compareIps(ip, firstAddress(range)) !== 0
}

function rangesOf({ spec }: ServiceCIDR): readonly Cidr[] {
  return (spec?.cidrs ?? []).flatMap(text => parseCidr(text) ?? [])
}
