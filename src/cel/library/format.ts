/** Named formats: `format.dns1123Label().validate(name)` returns the errors, or none. */
import {
  checkDns1035Label,
  checkDns1123Label,
  checkDns1123Subdomain,
  checkLabelValue,
  checkQualifiedName,
  dns1035LabelNames,
  labelNames,
  subdomainNames,
} from '#/api/names.ts'
import { checkUri } from '#/api/text/uri.ts'
import { globalFunction, method, type Library } from '../function.ts'
import { listOf, opaque, optionalOf, stringType } from '../type.ts'
import { list, OpaqueValue, Optional, optionalOfValue } from '../value.ts'
import { matchCost } from './costs.ts'

class FormatValue extends OpaqueValue {
  override readonly typeName = 'kubernetes.NamedFormat'
  readonly name: string
  readonly check: (text: string) => readonly string[]
  /** Length of an equivalent regular expression, for the cost only. */
  readonly patternLength: number

  constructor(name: string, patternLength: number, check: (text: string) => readonly string[]) {
    super()
    this.name = name
    this.check = check
    this.patternLength = patternLength
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && this.name === other.name
  }
}

const formatType = opaque<FormatValue>('kubernetes.NamedFormat')

const formats: ReadonlyMap<string, FormatValue> = new Map(
  [
    new FormatValue('dns1123Label', 30, checkDns1123Label),
    new FormatValue('dns1123Subdomain', 60, checkDns1123Subdomain),
    new FormatValue('dns1035Label', 30, checkDns1035Label),
    new FormatValue('qualifiedName', 60, checkQualifiedName),
    new FormatValue('dns1123LabelPrefix', 30, labelNames.prefix),
    new FormatValue('dns1123SubdomainPrefix', 60, subdomainNames.prefix),
    new FormatValue('dns1035LabelPrefix', 30, dns1035LabelNames.prefix),
    new FormatValue('labelValue', 40, checkLabelValue),
    new FormatValue('uri', 1103, text => {
      const problem = checkUri(text)
      return problem === undefined ? [] : [problem]
    }),
    new FormatValue('uuid', 77, text => (isUuid(text) ? [] : ['does not match the UUID format'])),
    new FormatValue('byte', 84, text => (isBase64(text) ? [] : ['invalid base64'])),
    new FormatValue('date', 82, text => (isDate(text) ? [] : ['invalid date'])),
    new FormatValue('datetime', 82, text => (isDateTime(text) ? [] : ['invalid datetime'])),
  ].map(format => [format.name, format]),
)

export const formatLibrary: Library = {
  overloads: [
    globalFunction('format.named', [stringType], optionalOf(formatType), name => {
      return optionalOfValue(formats.get(name))
    }),
    ...Array.from(formats.values(), format =>
      globalFunction(`format.${format.name}`, [], formatType, () => format),
    ),
    method('validate', [formatType, stringType], optionalOf(listOf(stringType)), validate, {
      cost: ({ patternLength }, text) => matchCost(text, patternLength),
    }),
  ],
}

function validate(format: FormatValue, text: string): Optional {
  const problems = format.check(text)
  return problems.length === 0 ? Optional.none : new Optional(list(problems))
}

/** String formats for schemas of custom resources and CEL, as Kubernetes validates them. */

/** With or without hyphens, in upper or lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i.test(text)
}

/** Base64 with padding; the empty string is invalid. */
export function isBase64(text: string): boolean {
  return text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

/** `2024-02-29`. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return false
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

/** `2024-02-29T23:59:59.5Z`. As in Kubernetes, everything after a second letter T is ignored. */
export function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t', 2)
  const [, hour, minute, second] =
    /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time)?.map(Number) ?? []
  if (hour === undefined || minute === undefined || second === undefined) return false
  return isDate(date) && hour <= 23 && minute <= 59 && second <= 59
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}
