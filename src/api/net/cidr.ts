/**
 * IP address ranges in CIDR notation: `10.0.0.0/24`. Address families never mix: an IPv4-mapped IPv6 address
 * is not in an IPv4 range unless the caller unmaps it first (`unmapIp`).
 */
import { invalid, type FieldError } from '../field-error.ts'
import {
  bitsOf,
  compareIps,
  formatIp,
  ipFromValue,
  isMappedIp,
  parseIp,
  parseIpLeniently,
  unmapIp,
  type Ip,
  type IpFamily,
} from './ip.ts'
import { quote } from '../text/quote.ts'

export interface Cidr {
  readonly family: IpFamily
  /** The lowest address; all host bits are zero. */
  readonly first: bigint
  readonly prefixLength: number
}

/** An address with its prefix length: `10.0.0.7/24`. */
export interface InterfaceAddress {
  readonly ip: Ip
  readonly cidr: Cidr
}

/** Undefined if the text is not a CIDR. Host bits are cleared. */
export function parseCidr(text: string): Cidr | undefined {
  return parseInterfaceAddress(text)?.cidr
}

export function parseInterfaceAddress(text: string): InterfaceAddress | undefined {
  return parse(text, parseIp, /^(?:0|[1-9][0-9]{0,2})$/)
}

/** Undefined if the prefix length is invalid for the address family. */
export function cidrOf(ip: Ip, prefixLength: number): Cidr | undefined {
  const bits = bitsOf(ip.family)
  if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > bits) return undefined
  const rest = BigInt(bits - prefixLength)
  return { family: ip.family, first: (ip.value >> rest) << rest, prefixLength }
}

/** In canonical form. */
export function formatCidr(cidr: Cidr): string {
  return `${formatIp(firstAddress(cidr))}/${cidr.prefixLength}`
}

export function cidrContains(cidr: Cidr, ip: Ip): boolean {
  const rest = restBits(cidr)
  return cidr.family === ip.family && ip.value >> rest === cidr.first >> rest
}

/** True if the outer range contains every address of the inner range. */
export function cidrContainsCidr(outer: Cidr, inner: Cidr): boolean {
  return inner.prefixLength >= outer.prefixLength && cidrContains(outer, firstAddress(inner))
}

/** Two ranges overlap only if one contains the other. */
export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  return cidrContainsCidr(a, b) || cidrContainsCidr(b, a)
}

/** Number of addresses. */
export function cidrSize(cidr: Cidr): bigint {
  return 1n << restBits(cidr)
}

export function firstAddress({ family, first }: Cidr): Ip {
  return { family, value: first }
}

export function lastAddress(cidr: Cidr): Ip {
  return { family: cidr.family, value: cidr.first + cidrSize(cidr) - 1n }
}

/** The address at a zero-based index; undefined outside the range. */
export function nthAddress(cidr: Cidr, index: number | bigint): Ip | undefined {
  const offset = BigInt(index)
  if (offset < 0n || offset >= cidrSize(cidr)) return undefined
  return { family: cidr.family, value: cidr.first + offset }
}

/** The zero-based index of the address in the range; undefined if it is not in the range. */
export function addressIndex(cidr: Cidr, ip: Ip): bigint | undefined {
  return cidrContains(cidr, ip) ? ip.value - cidr.first : undefined
}

/** All addresses in ascending order. The range may be far too large to iterate completely. */
export function* addressesOf(cidr: Cidr): Generator<Ip, void> {
  const end = cidr.first + cidrSize(cidr)
  for (let value = cidr.first; value < end; value++) yield { family: cidr.family, value }
}

/** Number of subnets with this prefix length; 0 if it is shorter than that of the range. */
export function subnetCount(cidr: Cidr, prefixLength: number): bigint {
  const isPossible = prefixLength >= cidr.prefixLength && prefixLength <= bitsOf(cidr.family)
  return isPossible ? 1n << BigInt(prefixLength - cidr.prefixLength) : 0n
}

/** The subnet with this prefix length at a zero-based index; undefined outside the range. */
export function nthSubnet(cidr: Cidr, prefixLength: number, index: number | bigint): Cidr | undefined {
  const number = BigInt(index)
  if (number < 0n || number >= subnetCount(cidr, prefixLength)) return undefined
  const sizeBits = BigInt(bitsOf(cidr.family) - prefixLength)
  const first = ipFromValue(cidr.family, cidr.first + (number << sizeBits))
  return first && cidrOf(first, prefixLength)
}

/** Validates a CIDR in canonical form, as new API fields require. */
export function validateCidr(field: string, value: string): FieldError[] {
  const errors = validateCidrForLegacyField(field, value)
  const cidr = parseCidr(value)
  if (errors.length > 0 || cidr === undefined || formatCidr(cidr) === value) return errors
  return [invalid(field, value, `must be in canonical form (${quote(formatCidr(cidr))})`)]
}

/** Validates a CIDR in any unambiguous form; values already in the old object remain valid. */
export function validateCidrForLegacyField(
  field: string,
  value: string,
  old: readonly string[] = [],
): FieldError[] {
  if (old.includes(value)) return []
  if (parseLeniently(value) === undefined) {
    return [invalid(field, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
  }
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return [invalid(field, value, 'must not have leading 0s in IP or prefix length')]
  if (isMappedIp(parsed.ip)) return [invalid(field, value, 'must not have an IPv4-mapped IPv6 address')]
  if (parsed.ip.value === parsed.cidr.first) return []
  return [invalid(field, value, 'must not have bits set beyond the prefix length')]
}

/** Validates an address with prefix length in canonical form. */
export function validateInterfaceAddress(field: string, value: string): FieldError[] {
  const parsed = parseLeniently(value)
  if (parsed === undefined) {
    const detail = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)'
    return [invalid(field, value, detail)]
  }
  const { ip, cidr } = unmap(parsed)
  const canonical = `${formatIp(ip)}/${cidr.prefixLength}`
  return canonical === value ? [] : [invalid(field, value, `must be in canonical form (${quote(canonical)})`)]
}

/** Warnings for a valid CIDR in a form that other implementations may misinterpret. */
export function warningsForCidr(field: string, value: string): string[] {
  const lenientlyParsed = parseLeniently(value)
  if (lenientlyParsed === undefined) return []
  const { ip, cidr } = unmap(lenientlyParsed)
  const strictly = parseInterfaceAddress(value)
  const canonical = quote(formatCidr(cidr))
  const warnings: string[] = []
  if (compareIps(ip, firstAddress(cidr)) !== 0) {
    const single = quote(`${formatIp(ip)}/${bitsOf(ip.family)}`)
    const choice = `(should be ${canonical} or ${single}?)`
    warnings.push(`${field}: CIDR value ${quote(value)} is ambiguous in this context ${choice}`)
  }
  if (strictly === undefined || isMappedIp(strictly.ip)) {
    warnings.push(`${field}: non-standard CIDR value ${quote(value)} is invalid: use ${canonical}`)
  }
  if (warnings.length === 0 && cidr.family === 6 && formatCidr(cidr) !== value) {
    const advice = `should be in RFC 5952 canonical format (${canonical})`
    warnings.push(`${field}: IPv6 CIDR value ${quote(value)} ${advice}`)
  }
  return warnings
}

function restBits({ family, prefixLength }: Cidr): bigint {
  return BigInt(bitsOf(family) - prefixLength)
}

/** Accepts leading zeros, as older versions of Kubernetes did. */
function parseLeniently(text: string): InterfaceAddress | undefined {
  return parse(text, parseIpLeniently, /^0*[0-9]{1,3}$/)
}

function parse(
  text: string,
  parseAddress: (text: string) => Ip | undefined,
  length: RegExp,
): InterfaceAddress | undefined {
  const slash = text.indexOf('/')
  const lengthText = text.slice(slash + 1)
  if (slash === -1 || !length.test(lengthText)) return undefined
  const ip = parseAddress(text.slice(0, slash))
  const cidr = ip && cidrOf(ip, Number(lengthText))
  return cidr && { ip, cidr }
}

/** Converts a range of IPv4-mapped IPv6 addresses to the IPv4 range. */
function unmap(address: InterfaceAddress): InterfaceAddress {
  const ip = unmapIp(address.ip)
  const cidr = isMappedIp(address.ip) ? cidrOf(ip, address.cidr.prefixLength - 96) : undefined
  return cidr ? { ip, cidr } : address
}
