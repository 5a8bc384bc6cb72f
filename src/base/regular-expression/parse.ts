/**
 * Parses the syntax of Go's regular expressions (https://github.com/google/re2/wiki/Syntax) with Go's error
 * messages. Groups are kept on an explicit stack, so that deep nesting does not overflow the call stack.
 */
import { foldCase, rangesOf, type Ranges } from './character-class.ts'
import { syntaxError } from './error.ts'
import { parseBracketed, parseNamedClass } from './parse-class.ts'
import { parseEscape } from './parse-escape.ts'
import {
  assertion,
  character,
  characterClass,
  repeatMax,
  TreeBuilder,
  type Assertion,
  type Node,
} from './syntax.ts'

export interface ParsedPattern {
  readonly tree: Node
  /** By group number, empty for unnamed groups. Group 0 is the whole match. */
  readonly groupNames: readonly string[]
}

/** Throws RegularExpressionError. */
export function parsePattern(pattern: string): ParsedPattern {
  if (!pattern.isWellFormed()) throw syntaxError('invalid UTF-8', pattern)
  return new PatternParser(pattern).parse()
}

interface Flags {
  readonly foldsCase: boolean
  readonly isMultiLine: boolean
  readonly dotMatchesNewline: boolean
  readonly isLazy: boolean
}

const noFlags: Flags = { foldsCase: false, isMultiLine: false, dotMatchesNewline: false, isLazy: false }

const flagNames: ReadonlyMap<string, keyof Flags> = new Map([
  ['i', 'foldsCase'],
  ['m', 'isMultiLine'],
  ['s', 'dotMatchesNewline'],
  ['U', 'isLazy'],
])

/** An open group. */
interface Frame {
  /** Undefined for a non-capturing group. */
  readonly capture: number | undefined
  /** Flags to restore after the group. */
  readonly flags: Flags
  readonly choices: Node[]
  items: Node[]
}

/** Maximum number of ranges in all classes of a pattern; a larger pattern is rejected. */
const rangesMax = 1_000_000

/**
 * Maximum of groups times instructions: each instruction may have a thread, and each thread stores all
 * captures. A larger pattern is rejected.
 */
const capturesMax = 2_000_000

const anyCharacter: Ranges = [0, 0x10ffff]
const anyButNewline: Ranges = [0, 0x09, 0x0b, 0x10ffff]
const assertionEscapes: ReadonlyMap<string, Assertion> = new Map([
  ['A', 'text start'],
  ['z', 'text end'],
  ['b', 'word boundary'],
  ['B', 'no word boundary'],
])

class PatternParser {
  readonly #pattern: string
  readonly #lastPosixClose: number
  readonly #build: TreeBuilder
  readonly #frames: Frame[] = []
  readonly #groupNames = ['']
  #frame: Frame = { capture: undefined, flags: noFlags, choices: [], items: [] }
  #flags = noFlags
  #at = 0
  #rangeCount = 0
  /** Start of the last repetition operator, if nothing was parsed since. */
  #repeatStart: number | undefined

  constructor(pattern: string) {
    this.#pattern = pattern
    this.#lastPosixClose = pattern.lastIndexOf(':]')
    this.#build = new TreeBuilder(pattern)
  }

  parse(): ParsedPattern {
    while (this.#at < this.#pattern.length) {
      const start = this.#at
      const isRepeat = this.#parseRepeat()
      if (!isRepeat) this.#parseTerm()
      this.#repeatStart = isRepeat ? (this.#repeatStart ?? start) : undefined
    }
    if (this.#frames.length > 0) throw syntaxError('missing closing )', this.#pattern)
    const tree = this.#closed()
    if (tree.size * this.#groupNames.length > capturesMax) {
      throw syntaxError('expression too large', this.#pattern)
    }
    return { tree, groupNames: this.#groupNames }
  }

  #parseTerm(): void {
    const letter = this.#pattern[this.#at]
    const { isMultiLine, dotMatchesNewline } = this.#flags
    switch (letter) {
      case '(':
        return this.#openGroup()
      case ')':
        return this.#closeGroup()
      case '|':
        this.#frame.choices.push(this.#build.sequence(this.#frame.items))
        this.#frame.items = []
        break
      case '^':
        this.#push(assertion(isMultiLine ? 'line start' : 'text start'))
        break
      case '$':
        this.#push(assertion(isMultiLine ? 'line end' : 'text end'))
        break
      case '.':
        this.#push(characterClass(dotMatchesNewline ? anyCharacter : anyButNewline))
        break
      case '[':
        return this.#parseClass()
      case '\\':
        return this.#parseBackslash()
      case undefined:
      default:
        return this.#parseLiteral(this.#pattern.length)
    }
    this.#at++
  }

  #push(node: Node): void {
    this.#frame.items.push(node)
  }

  #parseClass(): void {
    const options = { foldsCase: this.#flags.foldsCase, lastPosixClose: this.#lastPosixClose }
    this.#pushClass(parseBracketed(this.#pattern, this.#at, options))
  }

  #pushClass({ ranges, end }: { ranges: Ranges; end: number }): void {
    this.#rangeCount += ranges.length / 2
    if (this.#rangeCount > rangesMax) throw syntaxError('expression too large', this.#pattern)
    this.#push(characterClass(ranges))
    this.#at = end
  }

  #pushCharacter(codePoint: number): void {
    const ranges = this.#flags.foldsCase ? foldCase([codePoint, codePoint]) : []
    this.#push(ranges.length > 2 ? characterClass(ranges) : character(codePoint))
  }

  #parseLiteral(end: number): void {
    const codePoint = this.#pattern.codePointAt(this.#at)
    if (codePoint === undefined || this.#at >= end) return
    this.#pushCharacter(codePoint)
    this.#at += codePoint > 0xffff ? 2 : 1
  }

  #parseBackslash(): void {
    const letter = this.#pattern[this.#at + 1] ?? ''
    const asserted = assertionEscapes.get(letter)
    if (asserted !== undefined) {
      this.#push(assertion(asserted))
      this.#at += 2
      return
    }
    if (letter === 'Q') return this.#parseQuoted()
    const named = parseNamedClass(this.#pattern, this.#at, this.#flags.foldsCase)
    if (named !== undefined) return this.#pushClass(named)
    const { codePoint, end } = parseEscape(this.#pattern, this.#at)
    this.#pushCharacter(codePoint)
    this.#at = end
  }

  /** `\Q...\E`: literal text. */
  #parseQuoted(): void {
    const close = this.#pattern.indexOf('\\E', this.#at + 2)
    const end = close === -1 ? this.#pattern.length : close
    this.#at += 2
    while (this.#at < end) this.#parseLiteral(end)
    this.#at = close === -1 ? end : end + 2
  }

  /** Returns true if there was a repetition; a brace that does not form one is literal. */
  #parseRepeat(): boolean {
    repetition.lastIndex = this.#at
    const [text, , least, comma, most, lazy] = repetition.exec(this.#pattern) ?? []
    if (text === undefined) return false
    const end = this.#at + text.length
    const isCounted = least !== undefined
    const min = isCounted ? Number(least) : text.startsWith('+') ? 1 : 0
    const max = isCounted
      ? Number(most ?? (comma === undefined ? least : Infinity))
      : text.startsWith('?')
        ? 1
        : Infinity
    const isTooMuch = min > repeatMax || min > max || (max !== Infinity && max > repeatMax)
    const written = lazy === undefined ? text : text.slice(0, -1)
    if (isCounted && isTooMuch) throw syntaxError('invalid repeat count', written)
    if (this.#repeatStart !== undefined) {
      throw syntaxError('invalid nested repetition operator', this.#pattern.slice(this.#repeatStart, end))
    }
    const item = this.#frame.items.pop()
    if (item === undefined) throw syntaxError('missing argument to repetition operator', text)
    const isGreedy = (lazy === undefined) !== this.#flags.isLazy
    const repetitions = item.repetition * (max === Infinity ? min : max)
    if (isCounted && repetitions > repeatMax) throw syntaxError('invalid repeat count', text)
    this.#push(this.#build.repeat(item, { min, max, isGreedy, isCounted }))
    this.#at = end
    return true
  }

  #openGroup(): void {
    if (this.#pattern[this.#at + 1] !== '?') {
      this.#at++
      return this.#enter(this.#groupNames.push('') - 1, this.#flags)
    }
    namedGroup.lastIndex = this.#at
    if (namedGroup.test(this.#pattern)) return this.#openNamedGroup()
    flagGroup.lastIndex = this.#at
    const [text, on = '', off, end] = flagGroup.exec(this.#pattern) ?? []
    if (text === undefined) throw this.#unknownGroup()
    let flags = this.#flags
    for (const letter of on) flags = withFlag(flags, letter, true)
    for (const letter of off ?? '') flags = withFlag(flags, letter, false)
    this.#at += text.length
    if (end === ':') this.#enter(undefined, this.#flags)
    this.#flags = flags
  }

  #openNamedGroup(): void {
    const close = this.#pattern.indexOf('>', this.#at)
    if (close === -1) throw syntaxError('invalid named capture', this.#pattern.slice(this.#at))
    const opening = this.#pattern.slice(this.#at, close + 1)
    const name = opening.slice(opening.indexOf('<') + 1, -1)
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw syntaxError('invalid named capture', opening)
    this.#at = close + 1
    this.#enter(this.#groupNames.push(name) - 1, this.#flags)
  }

  /** The error quotes the group up to the first invalid character. */
  #unknownGroup(): Error {
    groupStart.lastIndex = this.#at
    const fragment = groupStart.exec(this.#pattern)?.[0] ?? ''
    return syntaxError('invalid or unsupported Perl syntax', fragment)
  }

  #enter(capture: number | undefined, flags: Flags): void {
    this.#frames.push(this.#frame)
    this.#frame = { capture, flags, choices: [], items: [] }
  }

  #closeGroup(): void {
    const outer = this.#frames.pop()
    if (outer === undefined) throw syntaxError('unexpected )', this.#pattern)
    const { capture, flags } = this.#frame
    const inner = this.#closed()
    this.#frame = outer
    this.#flags = flags
    this.#push(capture === undefined ? inner : this.#build.capture(capture, inner))
    this.#at++
  }

  /** The node of the current group. Alternatives that are single characters are merged into one class. */
  #closed(): Node {
    const { choices, items } = this.#frame
    const all = [...choices, this.#build.sequence(items)]
    const single = all.flatMap(node => {
      if (node.kind === 'character') return [[node.codePoint, node.codePoint]]
      return node.kind === 'class' ? [node.ranges] : []
    })
    if (all.length > 1 && single.length === all.length) return characterClass(rangesOf(single.flat()))
    return this.#build.choice(all)
  }
}

const repetition = /([*+?]|\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\})(\?)?/y
const namedGroup = /\(\?(?:P<.|<.)/suy
const flagGroup = /\(\?([imsU]*)(?:-([imsU]+))?([:)])/y
const groupStart = /\(\?[imsU]*(?:-[imsU]*)?.?/suy

function withFlag(flags: Flags, letter: string, isOn: boolean): Flags {
  const name = flagNames.get(letter)
  return name === undefined ? flags : { ...flags, [name]: isOn }
}
