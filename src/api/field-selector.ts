/**
 * Field selectors: `metadata.name=web,status.phase!=Running`. Which fields a resource has is the resource's
 * business; a selector asks for them one by one, and a field that is absent is an empty one. In values `\`,
 * `,` and `=` are escaped.
 */
import { SelectorError } from './selector-error.ts'

export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

export class FieldSelector {
  /** In the order of their text. */
  readonly requirements: readonly FieldRequirement[]

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
  }

  /** Selects everything. */
  get isEmpty(): boolean {
    return this.requirements.length === 0
  }

  matches(fieldOf: (field: string) => string | undefined): boolean {
    for (const { field, operator, value } of this.requirements) {
      if (((fieldOf(field) ?? '') === value) !== (operator === '=')) return false
    }
    return true
  }

  /**
   * The one value that a field must have for an object to be selected: who asks for one name need not list
   * them all.
   */
  requiresExact(field: string): string | undefined {
    return this.requirements.find(each => each.field === field && each.operator === '=')?.value
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',')
  }
}

export const everyField = new FieldSelector([])

/** Throws SelectorError, with Kubernetes' words, when the text is not a selector. */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = splitTerms(text).filter(term => term !== '')
  if (terms.length === 0) return everyField
  // The first term in the order of the text is the one that is complained of.
  const requirements = terms.sort().map(term => parseTerm(term, text))
  return new FieldSelector(requirements.length === 1 ? requirements : requirements.sort(byText))
}

/** Two ways to write one operator are one text. */
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

/** Cuts at the commas that are not escaped; escapes stay. */
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
      // Kubernetes shows the number of the character.
      throw new SelectorError(`invalid field selector: unescaped character in value: ${match.charCodeAt(0)}`)
    }
    if (escaped === '' || !'\\,='.includes(escaped)) {
      throw new SelectorError(`invalid field selector: invalid escape sequence: ${match}`)
    }
    return escaped
  })
}
