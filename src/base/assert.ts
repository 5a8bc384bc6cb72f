/**
 * Says what must be true at a place, in production too: a program that goes on after it was wrong about its
 * own state does more harm than one that stops. Not for checking input: that has errors of its own.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** We are wrong: never caught in order to go on, but at the top of a loop that starts over. */
export class AssertionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'AssertionError'
  }
}
