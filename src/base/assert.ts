/**
 * Checks an invariant, in production too: continuing with corrupt state does more harm than stopping. Not for
 * validating input, which has its own errors.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/**
 * A broken invariant, that is, a bug. Caught only at the top of a loop that restarts the work, never to
 * continue.
 */
export class AssertionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'AssertionError'
  }
}
