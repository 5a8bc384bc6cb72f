/** `'%s has %d'.format(['a', 1])`. */
import { quote } from '#/api/text/quote.ts'
import { traversalFactor } from '../cost.ts'
import { Fault } from '../fault.ts'
import { Duration, ListValue, MapValue, Timestamp, typeName, TypeValue, Uint, type Value } from '../value.ts'
import { parseDouble, showScalar } from './conversions.ts'
import { fixedDouble } from './double-text.ts'
import { compareText } from './text.ts'

/** Maximum precision of a clause. */
const precisionMax = 100
const precisionDefault = 6
/** Maximum depth of formatted lists and maps; unlimited in Kubernetes. */
const depthMax = 100

export function formatString(format: string, values: ListValue): string {
  let text = ''
  let end = 0
  let used = 0
  for (let at = format.indexOf('%'); at !== -1; at = format.indexOf('%', end)) {
    text += format.slice(end, at)
    if (format.charAt(at + 1) === '%') {
      text += '%'
      end = at + 2
      continue
    }
    if (used >= values.size) throw new Fault(`index ${used} out of range`)
    const clause = parseClause(format, at + 1)
    text += formatClause(clause, values.at(used++))
    end = clause.end
  }
  return text + format.slice(end)
}

/** Cost by written characters and by elements of lists and maps at any depth. */
export function formatCost(format: string, values: ListValue): number {
  let characters = format.length
  let elements = 0
  const pending: Value[] = [...values]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value === 'string' || value instanceof Uint8Array) characters += value.length
    else if (value instanceof ListValue) {
      elements += value.size
      for (const each of value) pending.push(each)
    } else if (value instanceof MapValue) {
      elements += value.size
      for (const key of value.keys()) pending.push(key, value.get(key) ?? null)
    }
  }
  return Math.max(1, Math.ceil(characters * traversalFactor) + elements)
}

interface Clause {
  readonly letter: string
  readonly precision: number
  readonly end: number
}

function parseClause(format: string, start: number): Clause {
  if (start >= format.length) throw new Fault('unexpected end of string')
  const prefix = 'could not parse formatting clause'
  const [dot = '', digits = ''] =
    /^\.([0-9]*)/.exec(format.slice(start, start + precisionCharactersMax)) ?? []
  const precision = dot === '' ? precisionDefault : Number(digits)
  const problem = `${prefix}: error while parsing precision`
  if (dot !== '' && digits === '') {
    throw new Fault(
      `${problem}: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`,
    )
  }
  if (precision > precisionMax) {
    throw new Fault(`${problem}: precision ${digits} exceeds maximum allowed precision ${precisionMax}`)
  }
  const end = start + dot.length + 1
  const letter = format.charAt(end - 1)
  if (letter === '') throw new Fault(`${problem}: could not find end of precision specifier`)
  if (!'sdfebxXo'.includes(letter)) throw new Fault(`${prefix}: unrecognized formatting clause "${letter}"`)
  return { letter, precision, end }
}

const precisionCharactersMax = 20

function formatClause({ letter, precision }: Clause, value: Value): string {
  switch (letter) {
    case 's':
      return formatValue(value)
    case 'd':
      return integerOf(value, 'decimal clause can only be used on integers').toString()
    case 'f':
      return fixed(doubleOf(value, 'fixed-point'), precision)
    case 'e':
      return scientific(doubleOf(value, 'scientific'))
    case 'b': {
      const complaint = 'only integers and bools can be formatted as binary'
      return typeof value === 'boolean' ? String(Number(value)) : integerOf(value, complaint).toString(2)
    }
    case 'o':
      return integerOf(value, 'octal clause can only be used on integers').toString(8)
    default:
      return letter === 'X' ? hexadecimal(value).toUpperCase() : hexadecimal(value)
  }
}

function complain(complaint: string, value: Value): Fault {
  return new Fault(`error during formatting: ${complaint}, was given ${typeName(value)}`)
}

function integerOf(value: Value, complaint: string): bigint {
  if (typeof value === 'bigint') return value
  if (value instanceof Uint) return value.value
  throw complain(complaint, value)
}

function doubleOf(value: Value, clause: string): number {
  if (typeof value === 'number') return value
  const isWord = value === 'NaN' || value === 'Infinity' || value === '-Infinity'
  if (!isWord) throw complain(`${clause} clause can only be used on doubles`, value)
  return parseDouble(value) ?? Number.NaN
}

function hexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return integerOf(value, 'only integers, byte buffers, and strings can be formatted as hex').toString(16)
}

/** English formatting as in Kubernetes: with commas between thousands. */
function fixed(value: number, precision: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '-∞'
  const [whole = '', fraction] = fixedDouble(value, precision).split('.')
  const grouped = whole.replaceAll(/(?<=[0-9])(?=(?:[0-9]{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** `2.718280 × 10⁰⁰`, with narrow spaces and always six digits. */
function scientific(value: number): string {
  if (!Number.isFinite(value)) return fixed(value, 0)
  const [mantissa = '', exponent = ''] = value.toExponential(precisionDefault).split('e')
  const digits = exponent.slice(1).padStart(2, '0')
  const raised = digits.replaceAll(/[0-9]/g, digit => superscripts.charAt(Number(digit)))
  return `${mantissa}\u202f×\u202f10${exponent.startsWith('-') ? '⁻' : ''}${raised}`
}

const stringComplaint =
  'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, ' +
  'durations, and timestamps'

function formatValue(value: Value): string {
  if (value === null) return 'null'
  if (value instanceof ListValue || value instanceof MapValue) return formatNested(value, 1)
  if (value instanceof TypeValue) return value.name
  const text = showScalar(value)
  if (text === undefined) throw complain(stringComplaint, value)
  return text
}

/** A value inside a list or map, in expression syntax. */
function formatNested(value: Value, depth: number): string {
  if (depth > depthMax) throw new Fault('error during formatting: value is nested too deep')
  if (value instanceof ListValue) {
    return `[${Array.from(value, each => formatNested(each, depth + 1)).join(', ')}]`
  }
  if (value instanceof MapValue) {
    const entries = Array.from(
      value.keys(),
      key => [formatNested(key, depth + 1), formatNested(value.get(key) ?? null, depth + 1)] as const,
    )
    const sorted = entries.sort(([a], [b]) => compareText(a, b))
    return `{${sorted.map(entry => entry.join(':')).join(', ')}}`
  }
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') {
    return Number.isFinite(value) ? fixedDouble(value, precisionDefault) : quote(formatValue(value))
  }
  if (value instanceof Uint8Array) return `b${quote(formatValue(value))}`
  if (value instanceof Timestamp) return `timestamp(${quote(formatValue(value))})`
  if (value instanceof Duration) return `duration(${quote(formatValue(value))})`
  return formatValue(value)
}
