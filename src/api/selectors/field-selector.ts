/**
 * Field selectors: `metadata.name=web,status.phase!=Running`. The resource defines which fields are
 * supported; a missing field has the empty value. In values `\`, `,` and `=` are escaped.
 */
import { SelectorError } from './selector-error.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

export class FieldSelector {
  /** Sorted by text. */
  readonly requirements: readonly FieldRequirement[]

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
  }

  /** True if it selects everything. */
  get isEmpty(): boolean {
    return this.requirements.length === 0
  }

  matches(fieldOf: (field: string) => string | undefined): boolean {
    for (const { field, operator, value } of this.requirements) {
      if (((fieldOf(field) ?? '') === value) !== (operator === '=')) return false
    }
    return true
  }

  /** The value that the field must equal, if any; allows a get by name instead of a list. */
  requiresExact(field: string): string | undefined {
    return this.requirements.find(each => each.field === field && each.operator === '=')?.value
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',')
  }
}

export const everyField = new FieldSelector([])

/** Throws SelectorError with Kubernetes' message if the text is not a selector. */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = splitTerms(text).filter(term => term !== '')
  if (terms.length === 0) return everyField
  // Sorted first, so that the error refers to the first invalid term in that order, as in Kubernetes.
  const requirements = terms.sort().map(term => parseTerm(term, text))
  return new FieldSelector(requirements.length === 1 ? requirements : requirements.sort(byText))
}

/** Sorts by the formatted text, in which alternative notations of an operator are equal. */
function byText(left: FieldRequirement, right: FieldRequirement): number {
  const [first, second] = [formatRequirement(left), formatRequirement(right)]
  return first < second ? -1 : first > second ? 1 : 0
}

export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&')
}

function formatRequirement({ field, operator, value }: FieldRequirement): string {
  return `${field}${operator}${escapeFieldValue(value)}`
}

/** Splits at unescaped commas; escapes are kept. */
function splitTerms(text: string): string[] {
  if (!text.includes('\\')) return text.split(',')
  const terms: string[] = []
  let start = 0
  for (const { index, 0: match } of text.matchAll(/\\[^]?|,/g)) {
    if (match !== ',') continue
    terms.push(text.slice(start, index))
    start = index + 1
  }
  terms.push(text.slice(start))
  return terms
}

function parseTerm(term: string, text: string): FieldRequirement {
  const match = /!=|==|=/.exec(term)
  if (match === null) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`)
  const [operator] = match
  const value = unescape(term.slice(match.index + operator.length))
  return { field: term.slice(0, match.index), operator: operator === '!=' ? '!=' : '=', value }
}

function unescape(value: string): string {
  if (!/[\\,=]/.test(value)) return value
  return value.replace(/\\([^]?)|[,=]/gu, (match, escaped?: string) => {
    if (escaped === undefined) {
      // Kubernetes prints the character code.
      throw new SelectorError(`invalid field selector: unescaped character in value: ${match.charCodeAt(0)}`)
    }
    if (escaped === '' || !'\\,='.includes(escaped)) {
      throw new SelectorError(`invalid field selector: invalid escape sequence: ${match}`)
    }
    return escaped
  })
}
