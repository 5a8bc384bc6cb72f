/**
 * A run-time error of an expression. Functions throw it, `&&` and `||` may absorb it, and `Program.evaluate`
 * turns it into an `EvaluationError`. It is not an `Error`, since an expression may fail in every iteration
 * of a loop, and the stack traces would cost more than everything else.
 */
export class Fault {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}
