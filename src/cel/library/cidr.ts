/** CIDR ranges: `cidr("10.0.0.0/8")`. Host bits of the given address are preserved. */
import {
  cidrContains,
  cidrContainsCidr,
  firstAddress,
  parseInterfaceAddress,
  type InterfaceAddress,
} from '#/api/net/cidr.ts'
import { compareIps, formatIp, isMappedIp, parseIp, type Ip } from '#/api/net/ip.ts'
import { quote } from '#/api/text/quote.ts'
import { traversalFactor } from '../cost.ts'
import { estimateTraversal, exactly, scale, sum, type Estimate } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Library } from '../function.ts'
import { boolType, intType, opaque, stringType } from '../type.ts'
import { OpaqueValue } from '../value.ts'
import { byStringTraversal, stringTraversalCost } from './costs.ts'
import { ipType, IpValue, toIp } from './ip.ts'

class CidrValue extends OpaqueValue {
  override readonly typeName = 'net.CIDR'
  readonly address: InterfaceAddress

  constructor(address: InterfaceAddress) {
    super()
    this.address = address
  }

  override equals(other: OpaqueValue): boolean {
    if (!(other instanceof CidrValue)) return false
    const [a, b] = [this.address, other.address]
    return a.cidr.prefixLength === b.cidr.prefixLength && compareIps(a.ip, b.ip) === 0
  }
}

const cidrType = opaque<CidrValue>('net.CIDR')

/** An address has 4 or 16 bytes. */
const addressBytes: Estimate = { min: 4n, max: 16n }
const estimatedComparison = scale(sum(addressBytes, addressBytes), traversalFactor)
const estimatedMaskedComparison = sum(estimatedComparison, scale(addressBytes, traversalFactor), exactly(1))

export const cidrLibrary: Library = {
  types: [cidrType],
  overloads: [
    globalFunction('cidr', [stringType], cidrType, toCidr, byStringTraversal),
    globalFunction(
      'isCIDR',
      [stringType],
      boolType,
      text => typeof readCidr(text) !== 'string',
      byStringTraversal,
    ),
    globalFunction('string', [cidrType], stringType, ({ address: { ip, cidr } }) => {
      return `${formatIp(ip)}/${cidr.prefixLength}`
    }),
    method('containsIP', [cidrType, ipType], boolType, (cidr, { ip }) => containsIp(cidr, ip), {
      cost: comparisonCost,
      estimatedCost: () => estimatedComparison,
    }),
    method('containsIP', [cidrType, stringType], boolType, (cidr, text) => containsIp(cidr, toIp(text).ip), {
      cost: (cidr, text) => comparisonCost(cidr) + stringTraversalCost(text),
      estimatedCost: (_, text) => sum(estimatedComparison, estimateTraversal(text)),
    }),
    method('containsCIDR', [cidrType, cidrType], boolType, containsCidr, {
      cost: maskedComparisonCost,
      estimatedCost: () => estimatedMaskedComparison,
    }),
    method(
      'containsCIDR',
      [cidrType, stringType],
      boolType,
      (cidr, text) => containsCidr(cidr, toCidr(text)),
      {
        cost: (cidr, text) => maskedComparisonCost(cidr) + stringTraversalCost(text),
        estimatedCost: (_, text) => sum(estimatedMaskedComparison, estimateTraversal(text)),
      },
    ),
    method('ip', [cidrType], ipType, ({ address }) => new IpValue(address.ip)),
    method('masked', [cidrType], cidrType, ({ address: { cidr } }) => {
      return new CidrValue({ ip: firstAddress(cidr), cidr })
    }),
    method('prefixLength', [cidrType], intType, ({ address }) => BigInt(address.cidr.prefixLength)),
  ],
}

function toCidr(text: string): CidrValue {
  const address = readCidr(text)
  if (typeof address === 'string') {
    throw new Fault(`network address parse error during conversion from string: ${address}`)
  }
  return new CidrValue(address)
}

/** The range, or an error message. */
function readCidr(text: string): InterfaceAddress | string {
  const address = parseInterfaceAddress(text)
  if (address === undefined) {
    return `network address parse error during conversion from string: ${problemOf(text)}`
  }
  return isMappedIp(address.ip) ? `IPv4-mapped IPv6 address ${quote(text)} is not allowed` : address
}

function problemOf(text: string): string {
  const slash = text.lastIndexOf('/')
  const head = `netip.ParsePrefix(${quote(text)}):`
  if (slash === -1) return `${head} no '/'`
  const ip = parseIp(text.slice(0, slash))
  if (ip === undefined) return `${head} ParseAddr(${quote(text.slice(0, slash))}): unable to parse IP`
  const length = text.slice(slash + 1)
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return `${head} bad bits after slash: ${quote(length)}`
  return `${head} prefix length out of range`
}

function containsIp({ address }: CidrValue, ip: Ip): boolean {
  return cidrContains(address.cidr, ip)
}

function containsCidr(outer: CidrValue, inner: CidrValue): boolean {
  return cidrContainsCidr(outer.address.cidr, inner.address.cidr)
}

function prefixBytes({ address }: CidrValue): number {
  return Math.ceil(address.cidr.prefixLength / 8)
}

function comparisonCost(cidr: CidrValue): number {
  return Math.ceil(2 * prefixBytes(cidr) * traversalFactor)
}

function maskedComparisonCost(cidr: CidrValue): number {
  return comparisonCost(cidr) + Math.ceil(prefixBytes(cidr) * traversalFactor) + 1
}
