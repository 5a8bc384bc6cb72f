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
import { isBase64, isDate, isDateTime, isUuid } from '#/api/text/string-format.ts'
import { checkUri } from '#/api/text/uri.ts'
import { estimateTraversal, scale } from '../estimate.ts'
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

/** Of a pattern of 128 characters. */
const estimatedPatternCost = 32

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
      estimatedCost: (_, text) => scale(estimateTraversal(text), estimatedPatternCost),
    }),
  ],
}

function validate(format: FormatValue, text: string): Optional {
  const problems = format.check(text)
  return problems.length === 0 ? Optional.none : new Optional(list(problems))
}
