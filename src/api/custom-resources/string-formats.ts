/** The string formats that validation of custom resources checks. Other formats are only documentation. */
import { checkDns1123Label, checkDns1123Subdomain } from '../names.ts'
import { parseInterfaceAddress } from '../net/cidr.ts'
import { parseIp } from '../net/ip.ts'
import { isBase64, isDate, isDateTime, isUuid } from '../text/string-format.ts'
import { checkUri } from '../text/uri.ts'

/** Undefined for an unknown format. Hyphens are not significant: `date-time` is `datetime`. */
export function stringFormatOf(format: string): ((text: string) => boolean) | undefined {
  return formats.get(format.replaceAll('-', ''))
}

const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

const formats: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['byte', isBase64],
  ['cidr', text => parseInterfaceAddress(text) !== undefined],
  ['creditcard', isCreditCard],
  ['date', isDate],
  ['datetime', isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['hostname', isHostname],
  ['ipv4', text => parseIp(text)?.family === 4],
  ['ipv6', text => parseIp(text)?.family === 6],
  ['isbn', text => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['k8slongname', text => checkDns1123Subdomain(text).length === 0],
  ['k8sshortname', text => checkDns1123Label(text).length === 0],
  ['mac', isMac],
  ['password', () => true],
  [
    'rgbcolor',
    matches(
      /^rgb\(\s*(?:[01]?\d{1,2}|2[0-4]\d|25[0-5])(?:\s*,\s*(?:[01]?\d{1,2}|2[0-4]\d|25[0-5])){2}\s*\)$/,
    ),
  ],
  ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['uri', text => checkUri(text) === undefined],
  ['uuid', isUuid],
  ['uuid3', text => isUuid(text) && isUuidVersion(text, '3')],
  ['uuid4', text => isUuid(text) && isUuidVersion(text, '4') && hasUuidVariant(text)],
  ['uuid5', text => isUuid(text) && isUuidVersion(text, '5') && hasUuidVariant(text)],
])

function isUuidVersion(uuid: string, version: string): boolean {
  return uuid.replaceAll('-', '').charAt(12) === version
}

/** The variant of RFC 9562. */
function hasUuidVariant(uuid: string): boolean {
  return /[89ab]/i.test(uuid.replaceAll('-', '').charAt(16))
}

/** Units of a duration, in the singular; all but the shortest have a plural. */
const durationUnits: ReadonlySet<string> = new Set(
  ['ns', 'nano', 'nanosecond', 'us', 'µs', 'micro', 'microsecond', 'ms', 'milli', 'millisecond']
    .concat(['s', 'sec', 'second', 'm', 'min', 'minute', 'h', 'hr', 'hour', 'd', 'day', 'w', 'wk', 'week'])
    .flatMap(unit => (unit.length > 1 ? [unit, `${unit}s`] : [unit])),
)

/** A number with a unit, or several: `1h30m`, `3 days`. */
function isDuration(text: string): boolean {
  const parts = text.match(/[\d.]+\s*[a-zµ]+/gi)
  if (
    parts === null ||
    parts.join('').replaceAll(/\s/g, '') !== text.replace(/^[+-]/, '').replaceAll(/[\s,]/g, '')
  ) {
    return false
  }
  return parts.every(part => {
    const [, amount = '', unit = ''] = /^(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]+)$/i.exec(part) ?? []
    return amount !== '' && durationUnits.has(unit.toLowerCase())
  })
}

/** A mail address, with or without a display name. */
function isEmail(text: string): boolean {
  const address = /^[^<>]*<([^<>]+)>\s*$/.exec(text)?.[1] ?? text.trim()
  const at = address.lastIndexOf('@')
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)]
  const isAtom = /^[^\s"(),:;<>@[\\\]]+$/.test(local) && !local.startsWith('.') && !local.endsWith('.')
  const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(local)
  return at > 0 && (isAtom || isQuoted) && /^(?:[^\s"(),:;<>@[\\\]]+|\[[^\s[\]]+\])$/.test(domain)
}

/** Labels of letters, digits and inner hyphens; the last of several has no digits. */
function isHostname(text: string): boolean {
  if (text.length > 255) return false
  const labels = text.split('.')
  const areLabels = labels.every(label =>
    /^[\p{L}\p{S}\d](?:[\p{L}\p{S}\d-]{0,61}[\p{L}\p{S}\d])?$/u.test(label),
  )
  return areLabels && (labels.length === 1 || /^[\p{L}]{2,63}$/u.test(labels.at(-1) ?? ''))
}

/** 6, 8 or 20 octets, separated by colons or hyphens, or in groups of two by dots. */
function isMac(text: string): boolean {
  const [, separator] = /^[0-9a-fA-F]{2}([:-])/.exec(text) ?? []
  const groups = text.split(separator ?? '.')
  const isGroup = separator === undefined ? /^[0-9a-fA-F]{4}$/ : /^[0-9a-fA-F]{2}$/
  const octets = separator === undefined ? groups.length * 2 : groups.length
  return groups.every(group => isGroup.test(group)) && [6, 8, 20].includes(octets)
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = Array.from(digits).reduce((total, digit, index) => {
    return total + (10 - index) * (digit === 'X' ? 10 : Number(digit))
  }, 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  const sum = Array.from(digits).reduce(
    (total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3),
    0,
  )
  return sum % 10 === 0
}

/** Checked with the Luhn algorithm. */
function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '')
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35\d{14})$/.test(
      digits,
    )
  ) {
    return false
  }
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
  return sum % 10 === 0
}
