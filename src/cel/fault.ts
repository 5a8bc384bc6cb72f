/**
 * An expression failed while it ran. Functions throw it, `&&` and `||` may absorb it, and `Program.evaluate` turns
 * what is left into an `EvaluationError`. It is no `Error`, since an expression may fail at every turn of a loop and a
 * stack trace for each would cost more than everything else.
 */
export class Fault {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}
