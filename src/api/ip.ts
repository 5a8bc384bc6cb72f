/**
 * IP addresses. Reading is strict: a number with leading zeros is decimal to some programs and octal to
 * others, so it is no address at all. Printing is canonical (RFC 5952). An IPv4 address inside an IPv6 one
 * (`::ffff:10.0.0.1`) is an IPv6 address here until `unmapIp` takes it out.
 */
import { invalid, type FieldError } from './field-error.ts'
import { quote } from './quote.ts'

export interface Ip {
  readonly family: IpFamily
  readonly value: bigint
}

export type IpFamily = 4 | 6

/** Undefined when the text is not an address. Zones (`fe80::1%eth0`) are not read. */
export function parseIp(text: string): Ip | undefined {
  return parse(text, strict)
}

/**
 * Reads leading zeros too, as decimal: what Kubernetes once took, and still must recognise in stored objects.
 */
export function parseIpLeniently(text: string): Ip | undefined {
  return parse(text, lenient)
}

/** The canonical form. */
export function formatIp({ family, value }: Ip): string {
  if (family === 4) return formatIpv4(value)
  return value >> 32n === mappedPrefix ? `::ffff:${formatIpv4(value & ipv4Max)}` : formatIpv6(value)
}

export function bitsOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128
}

/** Undefined when the number is none of the family's. */
export function ipFromValue(family: IpFamily, value: bigint): Ip | undefined {
  return value < 0n || value > (family === 4 ? ipv4Max : ipv6Max) ? undefined : { family, value }
}

/** The address so many after this one, or before it; undefined past the family's ends. */
export function offsetIp(ip: Ip, offset: number | bigint): Ip | undefined {
  return ipFromValue(ip.family, ip.value + BigInt(offset))
}

/** IPv4 comes before IPv6. */
export function compareIps(a: Ip, b: Ip): number {
  if (a.family !== b.family) return a.family - b.family
  if (a.value < b.value) return -1
  return a.value > b.value ? 1 : 0
}

/** Whether it is an IPv4 address inside an IPv6 one. */
export function isMappedIp({ family, value }: Ip): boolean {
  return family === 6 && value >> 32n === mappedPrefix
}

/** The IPv4 address inside an IPv6 one; any other address as it is. */
export function unmapIp(ip: Ip): Ip {
  return isMappedIp(ip) ? { family: 4, value: ip.value & ipv4Max } : ip
}

/** An address in canonical form: what new API fields take. */
export function validateIp(field: string, value: string): FieldError[] {
  const errors = validateStoredIp(field, value)
  const ip = parseIp(value)
  if (errors.length > 0 || ip === undefined || formatIp(ip) === value) return errors
  return [invalid(field, value, `must be in canonical form (${quote(formatIp(ip))})`)]
}

/**
 * An address in any form but ambiguous ones: what fields take that are older than the strict rule. Values
 * that the object had before stay valid whatever they are.
 */
export function validateStoredIp(field: string, value: string, before: readonly string[] = []): FieldError[] {
  if (before.includes(value)) return []
  if (parseIpLeniently(value) === undefined) {
    return [invalid(field, value, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
  }
  const ip = parseIp(value)
  if (ip === undefined) return [invalid(field, value, 'must not have leading 0s')]
  return isMappedIp(ip) ? [invalid(field, value, 'must not be an IPv4-mapped IPv6 address')] : []
}

/** An address that others can be reached at. The value is a valid address. */
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
  // Of the prefix ff02::/10 in the message only ff02::/16 is meant.
  if (isInRange(ip, '224.0.0.0', 24) || isInRange(ip, 'ff02::', 16)) {
    const detail = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'
    errors.push(invalid(field, value, detail))
  }
  return errors
}

/** What to tell a client that wrote a valid address in a form that others may misread. */
export function warnAboutIp(field: string, value: string): string[] {
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

/** More parts than these make no address; the rest of a long text is not cut up. */
const groupsMax = 9

function parseIpv6(text: string, grammar: Grammar): bigint | undefined {
  const halves = expandIpv4Tail(text, grammar)?.split('::', 3) ?? []
  const [head = [], tail = []] = halves.map(half => (half === '' ? [] : half.split(':', groupsMax)))
  const given = head.length + tail.length
  // The double colon stands for at least one group.
  const isComplete = halves.length === 2 ? given <= 7 : halves.length === 1 && given === 8
  if (!isComplete) return undefined
  let value = 0n
  for (const group of [...head, ...Array<string>(8 - given).fill('0'), ...tail]) {
    if (!grammar.group.test(group)) return undefined
    value = (value << 16n) | BigInt(Number.parseInt(group, 16))
  }
  return value
}

/** The last two groups may be written as an IPv4 address; returns the text with groups in its place. */
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

/** The first of the longest runs of zeros. */
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
