/**
 * Regular expressions as Go has them (RE2): the syntax of patterns in custom resource definitions and in CEL.
 * The engine's own are no substitute: they take other patterns, and on some of them the time that a search
 * takes doubles with every character of the text. Here it grows with the length of the text and of the
 * expression, and no further than a bound. There are no back-references and nothing looks ahead or behind.
 */
import { Automaton } from './regular-expression/automaton.ts'
import { RegularExpressionError } from './regular-expression/error.ts'
import { hasLiteral, literalOf, type Literal } from './regular-expression/literal.ts'
import { parsePattern, type ParsedPattern } from './regular-expression/parse.ts'
import { compileProgram, type Program } from './regular-expression/program.ts'
import { Steps } from './regular-expression/steps.ts'
import { ThreadSearch, type Captures } from './regular-expression/thread-search.ts'

export { RegularExpressionError }

/** A search throws RegularExpressionError when a large expression takes too long on a long text. */
export interface RegularExpression {
  readonly pattern: string
  /** By the group's number, empty for those without a name. Group 0 is the whole match. */
  readonly groupNames: readonly string[]
  /** Whether there is a match anywhere in the text. */
  test(text: string): boolean
  /** The leftmost match; of several that begin there the one that the pattern prefers. */
  match(text: string): Match | undefined
  /** Matches that do not overlap, in order, at most so many. None is empty right after another. */
  matchAll(text: string, countMax: number): Match[]
}

export interface Match {
  readonly start: number
  readonly end: number
  /** The whole first, then what each group captured; undefined when it took no part. */
  readonly groups: readonly (string | undefined)[]
}

/** Throws RegularExpressionError with Go's message when the pattern is wrong or too large. */
export function compileRegularExpression(pattern: string): RegularExpression {
  return new CompiledExpression(pattern, parsePattern(pattern))
}

/** What searches need is made when the first of them comes: many expressions are only checked. */
class CompiledExpression implements RegularExpression {
  readonly pattern: string
  readonly groupNames: readonly string[]
  readonly #parsed: ParsedPattern
  readonly #literal: Literal
  #program: Program | undefined
  #automaton: Automaton | undefined
  #search: ThreadSearch | undefined

  constructor(pattern: string, parsed: ParsedPattern) {
    this.pattern = pattern
    this.groupNames = parsed.groupNames
    this.#parsed = parsed
    this.#literal = literalOf(parsed.tree)
  }

  test(text: string): boolean {
    const { text: prefix, isAtStart, isWhole } = this.#literal
    if (isWhole) return hasLiteral(text, this.#literal)
    if (isAtStart && !text.startsWith(prefix)) return false
    const from = isAtStart || prefix === '' ? 0 : text.indexOf(prefix)
    return from !== -1 && this.#hasMatch(text, from, new Steps())
  }

  match(text: string): Match | undefined {
    return this.matchAll(text, 1)[0]
  }

  matchAll(text: string, countMax: number): Match[] {
    const matches: Match[] = []
    const steps = new Steps()
    let from = 0
    let previousEnd = -1
    while (matches.length < countMax && from <= text.length) {
      const found = this.#find(text, from, steps)
      if (found === undefined) break
      const { start, end } = found
      const isEmpty = start === end
      if (!isEmpty || end !== previousEnd) matches.push(found)
      previousEnd = end
      from = end > from ? end : from + widthAt(text, from)
    }
    return matches
  }

  #find(text: string, from: number, steps: Steps): Match | undefined {
    const skip = this.#skipper(text)
    const candidate = skip(from)
    if (candidate > text.length || !this.#hasMatch(text, candidate, steps)) return undefined
    this.#search ??= new ThreadSearch(this.#programOf())
    const captures = this.#search.find(text, candidate, { skip, steps })
    return captures && matchOf(text, captures)
  }

  /** Tells where the next match can begin at all; past the end of the text where it cannot. */
  #skipper(text: string): (at: number) => number {
    const { text: prefix, isAtStart } = this.#literal
    const none = text.length + 1
    if (isAtStart || this.#programOf().isAnchored) return at => (at === 0 ? 0 : none)
    if (prefix === '') return at => at
    return at => {
      const next = text.indexOf(prefix, at)
      return next === -1 ? none : next
    }
  }

  #hasMatch(text: string, from: number, steps: Steps): boolean {
    this.#automaton ??= new Automaton(this.#programOf())
    return this.#automaton.hasMatch(text, from, steps)
  }

  #programOf(): Program {
    this.#program ??= compileProgram(this.#parsed.tree, this.groupNames.length)
    return this.#program
  }
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}

function matchOf(text: string, captures: Captures): Match {
  const groups: (string | undefined)[] = []
  for (let slot = 0; slot < captures.length; slot += 2) {
    const start = captures[slot] ?? -1
    groups.push(start === -1 ? undefined : text.slice(start, captures[slot + 1]))
  }
  return { start: captures[0] ?? 0, end: captures[1] ?? 0, groups }
}
