/**
 * Parser for label selectors: `app=web,tier in (a,b),version notin (1),canary,!old,size>3`. Single pass,
 * linear time. `in` and `notin` are operators only in operator position.
 */
import { formatFieldErrors } from '../field-error.ts'
import { selectorOf, valid, validateKey, type Operator, type Requirement, type Selector } from './selector.ts'
import { SelectorError } from './selector-error.ts'

/** Throws SelectorError with Kubernetes' message if the text is not a selector. */
export function parseSelector(text: string): Selector {
  const tokens = new Tokens(text)
  const requirements: Requirement[] = []
  while (tokens.next.kind !== 'end') {
    if (!startsRequirement(tokens.next)) {
      throw new SelectorError(`found '${tokens.next.text}', expected: !, identifier, or 'end of string'`)
    }
    requirements.push(parseRequirement(tokens))
    const separator = tokens.take()
    if (separator.kind === 'end') break
    if (separator.text !== ',') {
      throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`)
    }
    if (!startsRequirement(tokens.next)) {
      throw new SelectorError(`found '${tokens.next.text}', expected: identifier after ','`)
    }
  }
  return selectorOf(requirements)
}

interface Token {
  readonly kind: 'symbol' | 'word' | 'end'
  readonly text: string
}

class Tokens {
  readonly #text: string
  readonly #pattern = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+))?/y
  /** Lookahead token. */
  next: Token

  constructor(text: string) {
    this.#text = text
    this.next = this.#read()
  }

  take(): Token {
    const token = this.next
    this.next = this.#read()
    return token
  }

  #read(): Token {
    const [, symbol, word] = this.#pattern.exec(this.#text) ?? []
    if (symbol !== undefined) return { kind: 'symbol', text: symbol }
    return word === undefined ? { kind: 'end', text: '' } : { kind: 'word', text: word }
  }
}

function startsRequirement(token: Token): boolean {
  return token.kind === 'word' || token.text === '!'
}

function endsRequirement(token: Token): boolean {
  return token.kind === 'end' || token.text === ','
}

function parseRequirement(tokens: Tokens): Requirement {
  const isNegated = tokens.next.text === '!'
  if (isNegated) tokens.take()
  const key = parseKey(tokens)
  if (isNegated) return { key, operator: '!', values: [] }
  if (endsRequirement(tokens.next)) return { key, operator: 'exists', values: [] }
  const operator = parseOperator(tokens)
  const values = operator === 'in' || operator === 'notin' ? parseValues(tokens) : [parseValue(tokens)]
  try {
    return valid({ key, operator, values })
  } catch (error) {
    throw error instanceof SelectorError ? cannotParse(error.message) : error
  }
}

function cannotParse(message: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${message}`)
}

function parseKey(tokens: Tokens): string {
  const { kind, text } = tokens.take()
  if (kind !== 'word') throw cannotParse(`found '${text}', expected: identifier`)
  const errors = validateKey('<nil>', text)
  if (errors.length > 0) throw cannotParse(formatFieldErrors(errors))
  return text
}

const binaryOperators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '=='],
  ['!=', '!='],
  ['>', 'gt'],
  ['<', 'lt'],
])

function parseOperator(tokens: Tokens): Operator {
  const { text } = tokens.take()
  const operator = binaryOperators.get(text)
  if (operator === undefined) throw cannotParse(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`)
  return operator
}

/** A missing value is the empty string: `a=`. */
function parseValue(tokens: Tokens): string {
  if (endsRequirement(tokens.next)) return ''
  const { kind, text } = tokens.take()
  if (kind !== 'word') throw cannotParse(`found '${text}', expected: identifier`)
  return text
}

/**
 * Values in parentheses, sorted and without duplicates. A missing value, as in `(a,)`, is the empty string.
 */
function parseValues(tokens: Tokens): string[] {
  const opening = tokens.take()
  if (opening.text !== '(') throw cannotParse(`found '${opening.text}' expected: '('`)
  const values = new Set<string>()
  const first = tokens.next
  if (first.kind !== 'word' && first.text !== ',' && first.text !== ')') {
    throw cannotParse(`found '${first.text}', expected: ',', ')' or identifier`)
  }
  for (;;) {
    const isOmitted = tokens.next.text === ',' || tokens.next.text === ')'
    if (!isOmitted && tokens.next.kind !== 'word') {
      throw cannotParse(`found '${tokens.next.text}', expected: ',', or identifier`)
    }
    values.add(isOmitted ? '' : tokens.take().text)
    const separator = tokens.next
    if (separator.text !== ',' && separator.text !== ')') {
      throw cannotParse(`found '${separator.text}', expected: ',' or ')'`)
    }
    tokens.take()
    if (separator.text === ')') return [...values].sort()
  }
}
