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
  /** As it stands in the source; of a quoted identifier without the quotes, `<EOF>` at the end. */
  readonly text: string
  readonly offset: number
}
