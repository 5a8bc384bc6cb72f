/**
 * Ranges of IP addresses: `10.0.0.0/24`. A range of IPv4 holds no IPv6 address and the other way round; who
 * wants an IPv4 address inside an IPv6 one to count takes it out first (`unmapIp`).
 */
import { invalid, type FieldError } from './field-error.ts'
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
import { quote } from './quote.ts'

export interface Cidr {
  readonly family: IpFamily
  /** The lowest address; no bit beyond the prefix is set. */
  readonly first: bigint
  readonly prefixLength: number
}

/** An address with the range it lies in: `10.0.0.7/24`. */
export interface InterfaceAddress {
  readonly ip: Ip
  readonly cidr: Cidr
}

/** Undefined when the text is not a range. Bits beyond the prefix are cleared. */
export function parseCidr(text: string): Cidr | undefined {
  return parseInterfaceAddress(text)?.cidr
}

export function parseInterfaceAddress(text: string): InterfaceAddress | undefined {
  return parse(text, parseIp, /^(?:0|[1-9][0-9]{0,2})$/)
}

/** Undefined when the family has no prefix of this length. */
export function cidrOf(ip: Ip, prefixLength: number): Cidr | undefined {
  const bits = bitsOf(ip.family)
  if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > bits) return undefined
  const rest = BigInt(bits - prefixLength)
  return { family: ip.family, first: (ip.value >> rest) << rest, prefixLength }
}

/** The canonical form. */
export function formatCidr(cidr: Cidr): string {
  return `${formatIp(firstAddress(cidr))}/${cidr.prefixLength}`
}

export function cidrContains(cidr: Cidr, ip: Ip): boolean {
  const rest = restBits(cidr)
  return cidr.family === ip.family && ip.value >> rest === cidr.first >> rest
}

/** Whether every address of the inner range is in the outer one. */
export function cidrContainsCidr(outer: Cidr, inner: Cidr): boolean {
  return inner.prefixLength >= outer.prefixLength && cidrContains(outer, firstAddress(inner))
}

/** Two ranges overlap only by one holding the other. */
export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  return cidrContainsCidr(a, b) || cidrContainsCidr(b, a)
}

/** How many addresses there are. */
export function cidrSize(cidr: Cidr): bigint {
  return 1n << restBits(cidr)
}

export function firstAddress({ family, first }: Cidr): Ip {
  return { family, value: first }
}

export function lastAddress(cidr: Cidr): Ip {
  return { family: cidr.family, value: cidr.first + cidrSize(cidr) - 1n }
}

/** Counts from 0 at the first address; undefined outside of the range. */
export function nthAddress(cidr: Cidr, index: number | bigint): Ip | undefined {
  const offset = BigInt(index)
  if (offset < 0n || offset >= cidrSize(cidr)) return undefined
  return { family: cidr.family, value: cidr.first + offset }
}

/** Which address of the range it is, from 0; undefined when it is none. */
export function addressIndex(cidr: Cidr, ip: Ip): bigint | undefined {
  return cidrContains(cidr, ip) ? ip.value - cidr.first : undefined
}

/** All addresses in order. There may be more than anybody can walk: stop in time. */
export function* addressesOf(cidr: Cidr): Generator<Ip, void> {
  const end = cidr.first + cidrSize(cidr)
  for (let value = cidr.first; value < end; value++) yield { family: cidr.family, value }
}

/** How many ranges of this prefix length fit; 0 when it is shorter than the range's own. */
export function subnetCount(cidr: Cidr, prefixLength: number): bigint {
  const isPossible = prefixLength >= cidr.prefixLength && prefixLength <= bitsOf(cidr.family)
  return isPossible ? 1n << BigInt(prefixLength - cidr.prefixLength) : 0n
}

/** One of the ranges of this prefix length, counted from 0; undefined when there is none. */
export function nthSubnet(cidr: Cidr, prefixLength: number, index: number | bigint): Cidr | undefined {
  const number = BigInt(index)
  if (number < 0n || number >= subnetCount(cidr, prefixLength)) return undefined
  const sizeBits = BigInt(bitsOf(cidr.family) - prefixLength)
  const first = ipFromValue(cidr.family, cidr.first + (number << sizeBits))
  return first && cidrOf(first, prefixLength)
}

/** A range in canonical form: what new API fields take. */
export function validateCidr(field: string, value: string): FieldError[] {
  const errors = validateStoredCidr(field, value)
  const cidr = parseCidr(value)
  if (errors.length > 0 || cidr === undefined || formatCidr(cidr) === value) return errors
  return [invalid(field, value, `must be in canonical form (${quote(formatCidr(cidr))})`)]
}

/** A range in any form but ambiguous ones; values that the object had before stay valid whatever they are. */
export function validateStoredCidr(
  field: string,
  value: string,
  before: readonly string[] = [],
): FieldError[] {
  if (before.includes(value)) return []
  if (parseLeniently(value) === undefined) {
    return [invalid(field, value, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)')]
  }
  const parsed = parseInterfaceAddress(value)
  if (parsed === undefined) return [invalid(field, value, 'must not have leading 0s in IP or prefix length')]
  if (isMappedIp(parsed.ip)) return [invalid(field, value, 'must not have an IPv4-mapped IPv6 address')]
  if (parsed.ip.value === parsed.cidr.first) return []
  return [invalid(field, value, 'must not have bits set beyond the prefix length')]
}

/** An address with its prefix length, in canonical form. */
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

/** What to tell a client that wrote a valid range in a form that others may misread. */
export function warnAboutCidr(field: string, value: string): string[] {
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

/** Leading zeros everywhere: what Kubernetes once took. */
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

/** A range of IPv4 addresses inside IPv6 ones as the range of IPv4 that it is. */
function unmap(address: InterfaceAddress): InterfaceAddress {
  const ip = unmapIp(address.ip)
  const cidr = isMappedIp(address.ip) ? cidrOf(ip, address.cidr.prefixLength - 96) : undefined
  return cidr ? { ip, cidr } : address
}
