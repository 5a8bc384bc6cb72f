/**
 * Go's regular expressions (RE2), the syntax of patterns in CustomResourceDefinitions and CEL. JavaScript's
 * are no substitute: the accepted syntax differs, and backtracking can take exponential time. Here a search
 * is linear in the length of the text times the size of the expression, up to a fixed bound. There are no
 * backreferences and no lookaround.
 */
import { Automaton } from './regular-expression/automaton.ts'
import { RegularExpressionError } from './regular-expression/error.ts'
import { parsePattern, type ParsedPattern } from './regular-expression/parse.ts'
import { compileProgram, type Program } from './regular-expression/program.ts'
import { Steps } from './regular-expression/steps.ts'
import { ThreadSearch, type Captures } from './regular-expression/thread-search.ts'
import type { Node } from './regular-expression/syntax.ts'

export { RegularExpressionError }

/**
 * A search throws RegularExpressionError when it exceeds the step limit: a large expression on a long text.
 */
export interface RegularExpression {
  readonly pattern: string
  /** By group number, empty for unnamed groups. Group 0 is the whole match. */
  readonly groupNames: readonly string[]
  /** True if there is a match anywhere in the text. */
  test(text: string): boolean
  /** The leftmost match; of several at the same position, the one that the pattern prefers. */
  match(text: string): Match | undefined
  /**
   * Non-overlapping matches in order, at most `countMax`. An empty match directly after another match is
   * skipped.
   */
  matchAll(text: string, countMax: number): Match[]
}

export interface Match {
  readonly start: number
  readonly end: number
  /** The whole match, then each group's capture; undefined for a group that did not participate. */
  readonly groups: readonly (string | undefined)[]
}

/** Throws RegularExpressionError with Go's message when the pattern is invalid or too large. */
export function compileRegularExpression(pattern: string): RegularExpression {
  return new CompiledExpression(pattern, parsePattern(pattern))
}

/** The search structures are built lazily, since many expressions are only validated. */
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

  /**
   * Returns a function that gives the next position where a match can begin, past the end of the text if
   * there is none.
   */
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

/** The literal prefix of every match; empty if there is none. */
interface Literal {
  readonly text: string
  /** True if the literal is the whole expression, anchors aside. */
  readonly isWhole: boolean
  readonly isAtStart: boolean
  /** True only if `isWhole` is. */
  readonly isAtEnd: boolean
}

function literalOf(tree: Node): Literal {
  const items = tree.kind === 'sequence' ? tree.items : [tree]
  const isAtStart = isAssertion(items[0], 'text start')
  let index = isAtStart ? 1 : 0
  const codePoints: number[] = []
  for (; index < items.length; index++) {
    const item = items[index]
    if (item?.kind !== 'character') break
    codePoints.push(item.codePoint)
  }
  const isAtEnd = index === items.length - 1 && isAssertion(items[index], 'text end')
  const isWhole = isAtEnd || index === items.length
  let text = ''
  for (const codePoint of codePoints) text += String.fromCodePoint(codePoint)
  return { text, isWhole, isAtStart, isAtEnd }
}

/** `test` for an expression that is only a literal. */
function hasLiteral(text: string, { text: wanted, isAtStart, isAtEnd }: Literal): boolean {
  if (isAtStart) return isAtEnd ? text === wanted : text.startsWith(wanted)
  return isAtEnd ? text.endsWith(wanted) : text.includes(wanted)
}

function isAssertion(node: Node | undefined, assertion: 'text start' | 'text end'): boolean {
  return node?.kind === 'assertion' && node.assertion === assertion
}
