import type { Token } from './tokenize.ts'

/** Reads tokens with unlimited lookahead. */
export class TokenReader {
  readonly #tokens: readonly Token[]
  /** Index of the next token. Set it back to read tokens again. */
  position = 0
  /** Index of the last token that was seen. */
  #seen = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  /** The line of the last token that was seen, also ahead. */
  get line(): number {
    return this.#tokens[Math.min(this.#seen, this.#tokens.length - 1)]?.line ?? 1
  }

  next(): Token {
    const token = this.peek()
    this.position++
    return token
  }

  nextNonSpace(): Token {
    let token = this.next()
    while (token.kind === 'space') token = this.next()
    return token
  }

  peek(): Token {
    this.#seen = Math.max(this.#seen, this.position)
    return this.#tokens[this.position] ?? { kind: 'end', text: '', at: 0, line: this.line }
  }

  peekNonSpace(): Token {
    while (this.peek().kind === 'space') this.position++
    return this.peek()
  }
}
