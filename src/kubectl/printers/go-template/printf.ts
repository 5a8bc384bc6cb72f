import { quote } from '#/api/text/quote.ts'
import { bytesOfText } from '../byte-text.ts'
import {
  formatSyntax,
  formatValue,
  GoNumber,
  isFloat,
  isNumber,
  isPrintable,
  sortedKeys,
  typeOf,
  type GoValue,
} from '../go-format.ts'
import { formatFloatWith } from './format-float.ts'
import { parseDirective, type Directive, type Flags } from './parse-directive.ts'

/** Go's `fmt.Sprintf`. Nothing is an error: what does not fit appears in the text, as `%!d(string=a)`. */
export function sprintf(format: string, values: readonly GoValue[]): string {
  let text = ''
  let next = 0
  let isReordered = false
  for (let at = 0; at < format.length;) {
    const percent = format.indexOf('%', at)
    if (percent === -1) {
      text += format.slice(at)
      break
    }
    text += format.slice(at, percent)
    const directive = parseDirective({ format, start: percent + 1, next, values, isReordered })
    text += directive.problems + formatDirective(directive, values)
    at = directive.end
    next = directive.next
    isReordered = directive.isReordered
  }
  if (isReordered || next >= values.length) return text
  const extra = values.slice(next).map(value => {
    return value === undefined || value === null ? '<nil>' : `${typeOf(value)}=${formatValue(value)}`
  })
  return `${text}%!(EXTRA ${extra.join(', ')})`
}

function formatDirective({ verb, value, flags, missing }: Directive, values: readonly GoValue[]): string {
  if (verb === undefined) return '%!(NOVERB)'
  if (verb === '%') return '%'
  if (missing !== undefined) return `%!${verb}(${missing})`
  return formatArgument(values[value] ?? undefined, verb, flags)
}

function formatArgument(value: GoValue, verb: string, flags: Flags): string {
  if (value === undefined) return verb === 'T' || verb === 'v' ? pad('<nil>', flags) : `%!${verb}(<nil>)`
  if (verb === 'T') return pad(typeOf(value), flags)
  if (verb === 'w') return badVerb(value, verb, flags)
  if (verb === 'v' && flags.sharp)
    return typeof value === 'object' ? formatSyntax(value) : pad(formatSyntax(value), flags)
  return formatWith(value, verb, verb === 'v' ? { ...flags, plus: false } : flags)
}

/** The verb is applied to all items and members. */
function formatWith(value: GoValue, verb: string, flags: Flags): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(each => formatWith(each, verb, flags)).join(' ')}]`
  if (isNumber(value)) return formatNumber(value, verb, flags)
  if (typeof value === 'boolean') {
    return verb === 't' || verb === 'v' ? pad(String(value), flags) : badVerb(value, verb, flags)
  }
  if (typeof value === 'string') return formatString(value, verb, flags)
  const members = sortedKeys(value).map(key => {
    return `${formatString(key, verb, flags)}:${formatWith(value[key], verb, flags)}`
  })
  return `map[${members.join(' ')}]`
}

function badVerb(value: GoValue, verb: string, flags: Flags): string {
  return `%!${verb}(${typeOf(value)}=${formatWith(value, 'v', flags)})`
}

function formatNumber(value: number | bigint | GoNumber, verb: string, flags: Flags): string {
  const number = value instanceof GoNumber ? value.value : value
  if (!isFloat(value)) return formatInteger(BigInt(number), verb, flags) ?? badVerb(value, verb, flags)
  const text = formatFloatWith(Number(number), verb, flags.precision)
  if (text === undefined) return badVerb(value, verb, flags)
  const sign = text.startsWith('-') ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  const digits = text.replace(/^-/, '')
  const isPadded = flags.zero && !flags.minus && flags.width !== undefined && sign !== ''
  if (isPadded) return sign + digits.padStart((flags.width ?? 0) - 1, '0')
  return pad(sign + digits, flags)
}

const bases: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }

/** Undefined if the verb is not for integers. */
function formatInteger(value: bigint, verb: string, flags: Flags): string | undefined {
  const base = bases[verb]
  if (base !== undefined) return formatInBase({ value, base, verb, flags })
  const code = value >= 0n && value <= 0x10_ff_ffn ? Number(value) : 0xff_fd
  const character = String.fromCodePoint(code).toWellFormed()
  if (verb === 'c') return pad(character, flags)
  if (verb === 'q') return pad(quoteCharacter(character, flags.plus), flags)
  if (verb !== 'U') return undefined
  const unsigned = BigInt.asUintN(64, value)
  const digits = unsigned
    .toString(16)
    .toUpperCase()
    .padStart(Math.max(4, flags.precision ?? 4), '0')
  const isNamed = flags.sharp && unsigned <= 0x10_ff_ffn && isPrintable(character)
  return pad(`U+${digits}${isNamed ? ` '${character}'` : ''}`, { ...flags, zero: false })
}

interface IntegerFormat {
  readonly value: bigint
  readonly base: number
  readonly verb: string
  readonly flags: Flags
}

function formatInBase({ value, base, verb, flags }: IntegerFormat): string {
  const { precision, width = 0, sharp } = flags
  const sign = value < 0n ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  const unpadded = { ...flags, zero: false }
  if (precision === 0 && value === 0n) return pad('', unpadded)
  const isZeroPadded = precision === undefined && flags.zero && !flags.minus && flags.width !== undefined
  const digitsMin = precision ?? (isZeroPadded ? width - sign.length : 0)
  let digits = (value < 0n ? -value : value).toString(base).padStart(digitsMin, '0')
  if (verb === 'X') digits = digits.toUpperCase()
  if (sharp && base === 8 && !digits.startsWith('0')) digits = `0${digits}`
  const prefix = sharp && base === 2 ? '0b' : sharp && base === 16 ? `0${verb}` : verb === 'O' ? '0o' : ''
  return pad(sign + prefix + digits, unpadded)
}

function formatString(value: string, verb: string, flags: Flags): string {
  const { precision } = flags
  const cut = precision === undefined ? value : Array.from(value).slice(0, precision).join('')
  switch (verb) {
    case 'v':
    case 's':
      return pad(cut, flags)
    case 'q':
      if (flags.sharp && canBackquote(cut)) return pad(`\`${cut}\``, flags)
      return pad(flags.plus ? toAscii(quote(cut)) : quote(cut), flags)
    case 'x':
    case 'X':
      return pad(toHexadecimal(value, verb, flags), flags)
    default:
      return badVerb(value, verb, flags)
  }
}

function toHexadecimal(text: string, verb: string, { precision, sharp, space }: Flags): string {
  const bytes = Buffer.from(bytesOfText(text)).subarray(0, precision)
  if (bytes.length === 0) return ''
  const digits = [...bytes].map(byte => byte.toString(16).padStart(2, '0'))
  const prefix = sharp ? `0${verb}` : ''
  const joined = digits.join(space ? ` ${prefix.toLowerCase()}` : '')
  const hexadecimal = prefix.toLowerCase() + joined
  return verb === 'X' ? hexadecimal.toUpperCase() : hexadecimal
}

function canBackquote(text: string): boolean {
  return text.isWellFormed() && !/(?!\t)\p{Cc}|[`\ufeff]/u.test(text)
}

function quoteCharacter(character: string, isAscii: boolean): string {
  if (character === "'") return "'\\''"
  if (character === '"') return `'"'`
  const quoted = quote(character)
  return `'${(isAscii ? toAscii(quoted) : quoted).slice(1, -1)}'`
}

function toAscii(text: string): string {
  return text.replaceAll(/[^\0-\u007f]/gu, character => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return character.length > 1 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}

function pad(text: string, { width = 0, minus, zero }: Flags): string {
  const missing = width - Array.from(text).length
  if (missing <= 0) return text
  if (minus) return text + ' '.repeat(missing)
  return (zero ? '0' : ' ').repeat(missing) + text
}
