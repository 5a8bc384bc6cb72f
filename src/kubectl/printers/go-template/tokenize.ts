import { quote } from '#/api/text/quote.ts'
import { nameCharacter } from '../go-format.ts'

export type TokenKind =
  | 'assign'
  | 'boolean'
  | 'character'
  | 'characterConstant'
  | 'complex'
  | 'declare'
  | 'end'
  | 'error'
  | 'field'
  | 'identifier'
  | 'keyword'
  | 'leftDelimiter'
  | 'leftParenthesis'
  | 'number'
  | 'pipe'
  | 'rawString'
  | 'rightDelimiter'
  | 'rightParenthesis'
  | 'space'
  | 'string'
  | 'text'
  | 'variable'

export interface Token {
  readonly kind: TokenKind
  /** The text, or the message of an error. */
  readonly text: string
  readonly at: number
  /** From 1. */
  readonly line: number
}

/** The tokens of a template. The last is `end`, or `error` if the rest of the text is invalid. */
export function tokenize(text: string): readonly Token[] {
  return new Tokenizer(text).tokenize()
}

const keywords: ReadonlySet<string> = new Set(
  '. block break continue define else end if nil range template with'.split(' '),
)

class Tokenizer {
  readonly #text: string
  readonly #tokens: Token[] = []
  #at = 0
  /** Where the token begins. */
  #start = 0
  /** The line at `#start`. */
  #line = 1
  #parentheses = 0

  constructor(text: string) {
    this.#text = text
  }

  tokenize(): readonly Token[] {
    while (this.#at < this.#text.length) {
      const isValid = this.#readText() && this.#readAction()
      if (!isValid) return this.#tokens
    }
    this.#push('end')
    return this.#tokens
  }

  /** Reads up to the next action. */
  #readText(): boolean {
    const open = this.#text.indexOf('{{', this.#at)
    const end = open === -1 ? this.#text.length : open
    const isTrimmed = open !== -1 && /^-[ \t\r\n]/.test(this.#text.slice(open + 2, open + 4))
    this.#at = isTrimmed ? this.#start + trimEnd(this.#text.slice(this.#start, end)).length : end
    if (this.#at > this.#start) this.#push('text')
    this.#at = end
    this.#skip()
    return true
  }

  #readAction(): boolean {
    if (this.#at === this.#text.length) return true
    const marker = /^-[ \t\r\n]/.test(this.#text.slice(this.#at + 2, this.#at + 4)) ? 2 : 0
    if (this.#text.startsWith('/*', this.#at + 2 + marker)) {
      this.#at += 2 + marker
      this.#skip()
      return this.#readComment()
    }
    this.#at += 2
    this.#push('leftDelimiter')
    this.#at += marker
    this.#skip()
    this.#parentheses = 0
    for (;;) {
      const delimiter = this.#match(rightDelimiter)
      if (delimiter === undefined) {
        if (!this.#readToken()) return false
      } else if (this.#parentheses > 0) {
        return this.#fail('unclosed left paren')
      } else {
        this.#endAction(delimiter)
        return true
      }
    }
  }

  #endAction(delimiter: string): void {
    this.#start += delimiter.length - 2
    this.#push('rightDelimiter')
    if (delimiter.length > 2) this.#match(blanks)
    this.#skip()
  }

  #readComment(): boolean {
    const end = this.#text.indexOf('*/', this.#at + 2)
    if (end === -1) return this.#fail('unclosed comment')
    this.#at = end + 2
    const delimiter = this.#match(rightDelimiter)
    if (delimiter === undefined) return this.#fail('comment ends before closing delimiter')
    if (delimiter.length > 2) this.#match(blanks)
    this.#skip()
    return true
  }

  #readToken(): boolean {
    if (this.#at === this.#text.length) return this.#fail('unclosed action')
    if (this.#match(spaces) !== undefined) return this.#push('space')
    if (this.#match(/:=/y) !== undefined) return this.#push('declare')
    if (this.#match(variable) !== undefined) return this.#pushWord('variable')
    if (this.#match(field) !== undefined) return this.#pushWord('field')
    if (this.#peek(numberStart)) return this.#readNumber()
    if (this.#match(identifier) !== undefined) return this.#pushWord('identifier')
    const [character = ''] = this.#text.slice(this.#at, this.#at + 2)
    const literal = literals[character]
    if (literal !== undefined) {
      const isTerminated = this.#match(literal.pattern) !== undefined
      return isTerminated ? this.#push(literal.kind) : this.#fail(`unterminated ${literal.name}`)
    }
    this.#at += character.length
    return this.#readCharacter(character)
  }

  #readCharacter(character: string): boolean {
    switch (character) {
      case '=':
        return this.#push('assign')
      case '|':
        return this.#push('pipe')
      case ':':
        return this.#fail('expected :=')
      case '(':
        this.#parentheses++
        return this.#push('leftParenthesis')
      case ')':
        this.#parentheses--
        return this.#parentheses < 0 ? this.#fail('unexpected right paren') : this.#push('rightParenthesis')
      default:
        if (/^[\x20-\x7e]$/.test(character)) return this.#push('character')
        return this.#fail(`unrecognized character in action: ${nameCharacter(character)}`)
    }
  }

  #readNumber(): boolean {
    const isScanned = this.#scanNumber()
    if (isScanned && !this.#peek(/[-+]/y)) return this.#push('number')
    if (isScanned && this.#scanNumber() && this.#text[this.#at - 1] === 'i') return this.#push('complex')
    return this.#fail(`bad number syntax: ${quote(this.#text.slice(this.#start, this.#at))}`)
  }

  #scanNumber(): boolean {
    this.#match(number)
    return this.#match(letter) === undefined
  }

  /** A name must be followed by a space or by a character that can follow an operand. */
  #pushWord(kind: 'field' | 'identifier' | 'variable'): boolean {
    if (this.#at < this.#text.length && !this.#peek(terminator)) {
      const [character = ''] = this.#text.slice(this.#at, this.#at + 2)
      return this.#fail(`bad character ${nameCharacter(character)}`)
    }
    const word = this.#text.slice(this.#start, this.#at)
    if (keywords.has(word)) return this.#push('keyword')
    return this.#push(word === 'true' || word === 'false' ? 'boolean' : kind)
  }

  #push(kind: TokenKind): boolean {
    const text = this.#text.slice(this.#start, this.#at)
    this.#tokens.push({ kind, text, at: this.#start, line: this.#line })
    this.#skip()
    return true
  }

  #fail(message: string): boolean {
    this.#tokens.push({ kind: 'error', text: message, at: this.#start, line: this.#line })
    return false
  }

  /** The next token begins here. */
  #skip(): void {
    for (let at = this.#start; at < this.#at; at++) if (this.#text[at] === '\n') this.#line++
    this.#start = this.#at
  }

  #peek(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    return pattern.test(this.#text)
  }

  /** Consumes a match of a sticky pattern. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const [text] = pattern.exec(this.#text) ?? []
    this.#at += text?.length ?? 0
    return text
  }
}

function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

const rightDelimiter = /(?:[ \t\r\n]-)?\}\}/y
const blanks = /[ \t\r\n]*/y
/** A space before the minus of a delimiter belongs to the delimiter. */
const spaces = /(?:(?![ \t\r\n]-\}\})[ \t\r\n])+/y
const letter = /[\p{L}\p{Nd}_]/uy
const identifier = /[\p{L}\p{Nd}_]+/uy
const variable = /\$[\p{L}\p{Nd}_]*/uy
const field = /\.(?=[^0-9])[\p{L}\p{Nd}_]*/uy
const terminator = /[ \t\r\n.,|:)(]|\}\}/y
const numberStart = /[-+.0-9]/y
const number = new RegExp(
  '[-+]?(?:' +
    '0[xX][0-9a-fA-F_]*(?:\\.[0-9a-fA-F_]*)?(?:[pP][-+]?[0-9_]*)?|' +
    '0[oO][0-7_]*(?:\\.[0-7_]*)?|' +
    '0[bB][01_]*(?:\\.[01_]*)?|' +
    '[0-9_]*(?:\\.[0-9_]*)?(?:[eE][-+]?[0-9_]*)?' +
    ')i?',
  'y',
)
const literals: Readonly<Record<string, { kind: TokenKind; name: string; pattern: RegExp }>> = {
  '"': { kind: 'string', name: 'quoted string', pattern: /"(?:[^"\\\n]|\\[^\n])*"/y },
  '`': { kind: 'rawString', name: 'raw quoted string', pattern: /`[^`]*`/y },
  "'": { kind: 'characterConstant', name: 'character constant', pattern: /'(?:[^'\\\n]|\\[^\n])*'/y },
}
