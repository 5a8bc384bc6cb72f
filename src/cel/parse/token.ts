export type TokenKind =
  | 'identifier'
  | 'quoted-identifier'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  /** Operators, brackets and the words `in`, `true`, `false` and `null`. */
  | 'symbol'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  /** The source text; without quotes for a quoted identifier, `<EOF>` at the end. */
  readonly text: string
  readonly offset: number
}
