import { cidrSize, firstAddress, lastAddress, parseCidr } from '#/api/net/cidr.ts'
import { compareIps, offsetIp, parseIp, type Ip } from '#/api/net/ip.ts'

/** Both ends are inclusive. */
export interface AddressRange {
  readonly first: Ip
  readonly last: Ip
}

/**
 * Parses `192.0.2.0/28`, `192.0.2.10-192.0.2.20` or `192.0.2.7`. The network and broadcast addresses of an
 * IPv4 CIDR are excluded; an explicit `first-last` range includes both ends.
 */
export function parseRange(text: string): AddressRange {
  const [from = '', to = from, ...more] = text.split('-').map(part => part.trim())
  const cidr = to === from ? parseCidr(from) : undefined
  if (cidr) {
    const isNetwork = cidr.family === 4 && cidrSize(cidr) > 2n
    const offset = isNetwork ? 1 : 0
    return {
      first: offsetIp(firstAddress(cidr), offset) ?? firstAddress(cidr),
      last: offsetIp(lastAddress(cidr), -offset) ?? lastAddress(cidr),
    }
  }
  const first = parseIp(from)
  const last = parseIp(to)
  const isRange = more.length === 0 && first && last && first.family === last.family
  if (!isRange || compareIps(first, last) > 0) {
    const forms = '192.0.2.0/28, 192.0.2.10-192.0.2.20 or 192.0.2.7'
    throw new Error(`invalid address range ${JSON.stringify(text)}: use ${forms}`)
  }
  return { first, last }
}

export function isInRanges(ranges: readonly AddressRange[], ip: Ip): boolean {
  return ranges.some(({ first, last }) => {
    return ip.family === first.family && compareIps(first, ip) <= 0 && compareIps(ip, last) <= 0
  })
}

/** All addresses in order. Lazy, since a range may be too large to enumerate. */
export function* addressesIn(ranges: readonly AddressRange[]): Generator<Ip, void> {
  for (const { first, last } of ranges) {
    for (let value = first.value; value <= last.value; value++) yield { family: first.family, value }
  }
}
