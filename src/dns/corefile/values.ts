/** Reads the words of a Corefile. All functions throw CorefileError. */
import { parseCidr } from '#/api/net/cidr.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import { isDnsName } from '../dns-message.ts'
import type { Server } from '../server/upstream-servers.ts'
import { CorefileError, type Directive } from './server-blocks.ts'

export function fail({ line, name }: Directive, reason: string): never {
  throw new CorefileError(line, `${name}: ${reason}`)
}

/** A name, or a CIDR for the zone of its reverse names. */
export function readZone(from: Directive, text: string): string {
  if (text.includes('/')) return readReverseZone(from, text)
  const name = text.toLowerCase().replace(/\.$/, '')
  if (!isDnsName(name) && name !== '') fail(from, `${JSON.stringify(text)} is not a zone`)
  return name
}

/** The zones in the words, otherwise those of the server block. */
export function readZones(
  from: Directive,
  words: readonly string[],
  otherwise: readonly string[],
): readonly string[] {
  return words.length > 0 ? words.map(word => readZone(from, word)) : otherwise
}

function readReverseZone(from: Directive, text: string): string {
  const cidr = parseCidr(text)
  const bits = cidr?.family === 6 ? 4 : 8
  if (cidr === undefined) fail(from, `${JSON.stringify(text)} is not a zone`)
  if (cidr.prefixLength % bits !== 0)
    fail(
      from,
      `the prefix length of ${text} is no multiple of ${bits}: name the zones below in-addr.arpa or ip6.arpa`,
    )
  const { family, first: value } = cidr
  const digits =
    family === 6 ? value.toString(16).padStart(32, '0').split('') : formatIp({ family, value }).split('.')
  const kept = digits.slice(0, cidr.prefixLength / bits).toReversed()
  return [...kept, family === 6 ? 'ip6.arpa' : 'in-addr.arpa'].join('.')
}

const units: Readonly<Record<string, number>> = { '': 1, 's': 1, 'm': 60, 'h': 3_600 }

/** `30`, `30s`, `5m` or `1h`. */
export function readSeconds(from: Directive, text: string, max: number): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([smh]?)$/.exec(text) ?? []
  const seconds = Number(digits) * (units[unit] ?? 1)
  if (digits === '' || seconds > max)
    fail(from, `${JSON.stringify(text)} is not a duration of at most ${max} s`)
  return seconds
}

export function readInteger(from: Directive, text: string | undefined, max: number): number {
  const value = /^\d{1,15}$/.test(text ?? '') ? Number(text) : Infinity
  if (value > max) fail(from, `${JSON.stringify(text ?? '')} is not a number from 0 to ${max}`)
  return value
}

/** `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:53`, with or without `dns://`. */
export function readServer(from: Directive, text: string): Server {
  const scheme = /^([a-z]+):\/\//.exec(text)?.[1] ?? 'dns'
  if (scheme !== 'dns') fail(from, `${scheme}:// is not supported: only DNS over UDP and TCP`)
  const plain = text.replace(/^dns:\/\//, '')
  const [, bracketed, dotted, port = '53'] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(plain) ?? []
  const host = bracketed ?? dotted ?? plain
  if (parseIp(host) === undefined || Number(port) > 65_535 || Number(port) === 0)
    fail(from, `${JSON.stringify(text)} is neither an IP address nor /etc/resolv.conf`)
  return { host, port: Number(port) }
}

/** The only word. */
export function readWord(from: Directive): string {
  const [word, ...rest] = from.words
  if (word === undefined || rest.length > 0) fail(from, 'expected one word')
  return word
}

export function requireNoBlock(from: Directive): void {
  const [option] = from.block
  if (option) fail(option, `is not an option of ${from.name}`)
}
