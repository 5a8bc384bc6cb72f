/** IP addresses: `ip("10.0.0.1")`. Addresses with a zone and IPv4-mapped IPv6 addresses are rejected. */
import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { compareIps, formatIp, isMappedIp, parseIp, type Ip } from '#/api/net/ip.ts'
import { quote } from '#/api/text/quote.ts'
import { estimateCopy } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Library } from '../function.ts'
import { boolType, intType, opaque, stringType } from '../type.ts'
import { OpaqueValue } from '../value.ts'
import { byStringTraversal, stringTraversalCost } from './costs.ts'

export class IpValue extends OpaqueValue {
  override readonly typeName = 'net.IP'
  readonly ip: Ip

  constructor(ip: Ip) {
    super()
    this.ip = ip
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && compareIps(this.ip, other.ip) === 0
  }
}

export const ipType = opaque<IpValue>('net.IP')

export const ipLibrary: Library = {
  types: [ipType],
  overloads: [
    globalFunction('ip', [stringType], ipType, toIp, byStringTraversal),
    globalFunction(
      'isIP',
      [stringType],
      boolType,
      text => typeof readIp(text) !== 'string',
      byStringTraversal,
    ),
    globalFunction('ip.isCanonical', [stringType], boolType, text => formatIp(toIp(text).ip) === text, {
      cost: text => stringTraversalCost(text + text),
      estimatedCost: estimateCopy,
    }),
    globalFunction('string', [ipType], stringType, ({ ip }) => formatIp(ip)),
    method('family', [ipType], intType, ({ ip }) => BigInt(ip.family)),
    method('isUnspecified', [ipType], boolType, ({ ip }) => ip.value === 0n),
    method('isLoopback', [ipType], boolType, ({ ip }) => isLoopback(ip)),
    method('isLinkLocalMulticast', [ipType], boolType, ({ ip }) => isLinkLocalMulticast(ip)),
    method('isLinkLocalUnicast', [ipType], boolType, ({ ip }) => isLinkLocalUnicast(ip)),
    method('isGlobalUnicast', [ipType], boolType, ({ ip }) => isGlobalUnicast(ip)),
  ],
}

/** Throws a Fault if the text is not an IP address. */
export function toIp(text: string): IpValue {
  const ip = readIp(text)
  if (typeof ip === 'string') throw new Fault(ip)
  return new IpValue(ip)
}

/** The address, or an error message. */
function readIp(text: string): Ip | string {
  const ip = parseIp(text)
  if (ip !== undefined) {
    return isMappedIp(ip) ? `IPv4-mapped IPv6 address ${quote(text)} is not allowed` : ip
  }
  const zone = text.indexOf('%')
  if (zone !== -1 && zone < text.length - 1 && parseIp(text.slice(0, zone))?.family === 6) {
    return `IP address ${quote(text)} with zone value is not allowed`
  }
  const reason = `ParseAddr(${quote(text)}): unable to parse IP`
  return `IP Address ${quote(text)} parse error during conversion from string: ${reason}`
}

const loopback = ranges('127.0.0.0/8', '::1/128')
const linkLocal = ranges('169.254.0.0/16', 'fe80::/10')
const multicast = ranges('224.0.0.0/4', 'ff00::/8')
const localMulticast = ranges('224.0.0.0/24')
const broadcast = ranges('255.255.255.255/32')

function ranges(...texts: readonly string[]): (ip: Ip) => boolean {
  const cidrs = texts.map(parseCidr).filter(cidr => cidr !== undefined)
  return ip => cidrs.some(cidr => cidrContains(cidr, ip))
}

function isLoopback(ip: Ip): boolean {
  return loopback(ip)
}

/** IPv6 multicast flags are ignored. */
function isLinkLocalMulticast(ip: Ip): boolean {
  return ip.family === 4 ? localMulticast(ip) : ((ip.value >> 112n) & 0xff0fn) === 0xff02n
}

function isLinkLocalUnicast(ip: Ip): boolean {
  return linkLocal(ip)
}

/** Private addresses count as global. */
function isGlobalUnicast(ip: Ip): boolean {
  return ip.value !== 0n && ![loopback, linkLocal, multicast, broadcast].some(isIn => isIn(ip))
}
