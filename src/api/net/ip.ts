/**
 * IP addresses. Parsing is strict: numbers with leading zeros are rejected, since some programs read them as
 * decimal and others as octal. Formatting is canonical (RFC 5952). An IPv4-mapped IPv6 address
 * (`::ffff:10.0.0.1`) counts as IPv6 unless `unmapIp` converts it.
 */
import { invalid, type FieldError } from '../field-error.ts'
import { quote } from '../text/quote.ts'

export interface Ip {
  readonly family: IpFamily
  readonly value: bigint
}

export type IpFamily = 4 | 6

/** Undefined if the text is not an address. Zones (`fe80::1%eth0`) are not accepted. */
export function parseIp(text: string): Ip | undefined {
  return parse(text, strict)
}

/** Accepts leading zeros as decimal, as older versions of Kubernetes did; stored objects may contain them. */
export function parseIpLeniently(text: string): Ip | undefined {
  return parse(text, lenient)
}

/** In canonical form. */
export function formatIp({ family, value }: Ip): string {
  if (family === 4) return formatIpv4(value)
  return value >> 32n === mappedPrefix ? `::ffff:${formatIpv4(value & ipv4Max)}` : formatIpv6(value)
}

export function bitsOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128
}

/** Undefined if the value is out of range for the family. */
export function ipFromValue(family: IpFamily, value: bigint): Ip | undefined {
  return value < 0n || value > (family === 4 ? ipv4Max : ipv6Max) ? undefined : { family, value }
}

/** Adds an offset, which may be negative; undefined outside the range of the family. */
export function offsetIp(ip: Ip, offset: number | bigint): Ip | undefined {
  return ipFromValue(ip.family, ip.value + BigInt(offset))
}

/** IPv4 sorts before IPv6. */
export function compareIps(a: Ip, b: Ip): number {
  if (a.family !== b.family) return a.family - b.family
  if (a.value < b.value) return -1
  return a.value > b.value ? 1 : 0
}

/** True for an IPv4-mapped IPv6 address. */
export function isMappedIp({ family, value }: Ip): boolean {
  return family === 6 && value >> 32n === mappedPrefix
}

/** Converts an IPv4-mapped IPv6 address to IPv4; returns any other address unchanged. */
export function unmapIp(ip: Ip): Ip {
  return isMappedIp(ip) ? { family: 4, value: ip.value & ipv4Max } : ip
}

/** Validates an address in canonical form, as new API fields require. */
export function validateIp(field: string, value: string): FieldError[] {
  const errors = validateIpForLegacyField(field, value)
  const ip = parseIp(value)
  if (errors.length > 0 || ip === undefined || formatIp(ip) === value) return errors
  return [invalid(field, value, `must be in canonical form (${quote(formatIp(ip))})`)]
}

/**
 * Validates an address in any unambiguous form, for fields that are older than the strict rule. Values
 * already in the old object remain valid.
 */
export function validateIpForLegacyField(
  field: string,
  value: string,
  old: readonly string[] = [],
): FieldError[] {
  if (old.includes(value)) return []
  if (parseIpLeniently(value) === undefined) {
    return [invalid(field, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
  }
  const ip = parseIp(value)
  if (ip === undefined) return [invalid(field, value, 'must not have leading 0s')]
  return isMappedIp(ip) ? [invalid(field, value, 'must not be an IPv4-mapped IPv6 address')] : []
}

/** Rejects unspecified, loopback, link-local and link-local multicast addresses. */
export function validateNonSpecialIp(field: string, value: string): FieldError[] {
  const parsed = parseIpLeniently(value)
  if (parsed === undefined) return [invalid(field, value, 'must be a valid IP address')]
  const ip = unmapIp(parsed)
  const errors: FieldError[] = []
  if (ip.value === 0n) errors.push(invalid(field, value, `may not be unspecified (${value})`))
  if (isInRange(ip, '127.0.0.0', 8) || isInRange(ip, '::1', 128)) {
    errors.push(invalid(field, value, 'may not be in the loopback range (127.0.0.0/8, ::1/128)'))
  }
  if (isInRange(ip, '169.254.0.0', 16) || isInRange(ip, 'fe80::', 10)) {
    errors.push(invalid(field, value, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'))
  }
  // Kubernetes' message says ff02::/10, but only ff02::/16 is checked.
  if (isInRange(ip, '224.0.0.0', 24) || isInRange(ip, 'ff02::', 16)) {
    const detail = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
    errors.push(invalid(field, value, detail))
  }
  return errors
}

/** Warnings for a valid address in a form that other implementations may misinterpret. */
export function warningsForIp(field: string, value: string): string[] {
  const lenientIp = parseIpLeniently(value)
  if (lenientIp === undefined) return []
  const ip = parseIp(value)
  if (ip === undefined || isMappedIp(ip)) {
    const better = quote(formatIp(unmapIp(lenientIp)))
    return [`${field}: non-standard IP address ${quote(value)} is invalid: use ${better}`]
  }
  const canonical = formatIp(ip)
  if (ip.family === 4 || canonical === value) return []
  const advice = `should be in RFC 5952 canonical format (${quote(canonical)})`
  return [`${field}: IPv6 address ${quote(value)} ${advice}`]
}

const ipv4Max = 2n ** 32n - 1n
const ipv6Max = 2n ** 128n - 1n
const mappedPrefix = 0xffffn

interface Grammar {
  readonly octet: RegExp
  readonly group: RegExp
}

const strict: Grammar = { octet: /^(?:0|[1-9][0-9]{0,2})$/, group: /^[0-9a-fA-F]{1,4}$/ }
const lenient: Grammar = { octet: /^0*[0-9]{1,3}$/, group: /^0*[0-9a-fA-F]{1,4}$/ }

function parse(text: string, grammar: Grammar): Ip | undefined {
  const family = text.includes(':') ? 6 : 4
  const value = family === 4 ? parseIpv4(text, grammar) : parseIpv6(text, grammar)
  return value === undefined ? undefined : { family, value }
}

function parseIpv4(text: string, { octet }: Grammar): bigint | undefined {
  const parts = text.split('.', 5)
  if (parts.length !== 4) return undefined
  let value = 0
  for (const part of parts) {
    const number = octet.test(part) ? Number(part) : Infinity
    if (number > 255) return undefined
    value = value * 256 + number
  }
  return BigInt(value)
}

/** Upper bound on the groups that are split; a text with more is not an address. */
const groupsMax = 9

function parseIpv6(text: string, grammar: Grammar): bigint | undefined {
  const halves = expandIpv4Tail(text, grammar)?.split('::', 3) ?? []
  const [head = [], tail = []] = halves.map(half => (half === '' ? [] : half.split(':', groupsMax)))
  const given = head.length + tail.length
  // The double colon replaces at least one group.
  const isComplete = halves.length === 2 ? given <= 7 : halves.length === 1 && given === 8
  if (!isComplete) return undefined
  let value = 0n
  for (const group of [...head, ...Array<string>(8 - given).fill('0'), ...tail]) {
    if (!grammar.group.test(group)) return undefined
    value = (value << 16n) | BigInt(Number.parseInt(group, 16))
  }
  return value
}

/** Replaces an IPv4 address in place of the last two groups by groups. */
function expandIpv4Tail(text: string, grammar: Grammar): string | undefined {
  const start = text.lastIndexOf(':') + 1
  const tail = text.slice(start)
  if (!tail.includes('.')) return text
  const value = parseIpv4(tail, grammar)
  if (value === undefined) return undefined
  return `${text.slice(0, start)}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

function formatIpv4(value: bigint): string {
  const number = Number(value)
  return `${number >>> 24}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`
}

function formatIpv6(value: bigint): string {
  const groups = value.toString(16).padStart(32, '0').match(/.{4}/g) ?? []
  const texts = groups.map(group => group.replace(/^0{1,3}/, ''))
  const { start, length } = longestZeros(texts)
  if (length < 2) return texts.join(':')
  return `${texts.slice(0, start).join(':')}::${texts.slice(start + length).join(':')}`
}

/** The first of the longest runs of zero groups. */
function longestZeros(groups: readonly string[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 }
  for (let start = 0; start < groups.length; start++) {
    let length = 0
    while (groups[start + length] === '0') length++
    if (length > longest.length) longest = { start, length }
  }
  return longest
}

function isInRange(ip: Ip, network: string, prefixLength: number): boolean {
  const first = parseIp(network)
  if (first?.family !== ip.family) return false
  const rest = BigInt(bitsOf(ip.family) - prefixLength)
  return first.value >> rest === ip.value >> rest
}
