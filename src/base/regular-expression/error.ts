/** An invalid pattern, with Go's message, or a search that exceeded the step limit. */
export class RegularExpressionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RegularExpressionError'
  }
}

/** An error with Go's wording for the reason and the offending part of the pattern. */
export function syntaxError(reason: string, fragment: string): RegularExpressionError {
  return new RegularExpressionError(`error parsing regexp: ${reason}: \`${fragment}\``)
}
