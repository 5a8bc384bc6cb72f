/** A pattern is no regular expression, or a search took too long. Of patterns it says what Go says. */
export class RegularExpressionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RegularExpressionError'
  }
}

/** What is wrong, and with which part of the pattern. */
export function syntaxError(reason: string, fragment: string): RegularExpressionError {
  return new RegularExpressionError(`error parsing regexp: ${reason}: \`${fragment}\``)
}
