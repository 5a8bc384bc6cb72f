/** Exponential backoff: the delay grows with each consecutive failure, up to a maximum. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  /** Multiplier from one delay to the next. */
  readonly factor: number
  /**
   * Maximum jitter as a fraction of the delay, added so that clients that failed together do not retry
   * together.
   */
  readonly jitter: number
}

/**
 * The delay after this many consecutive failures, counted from 1. `fraction` is a random number in [0, 1).
 */
export function backoffMs(
  failures: number,
  { initialMs, maxMs, factor, jitter }: Backoff,
  fraction: number,
): number {
  const steps = Math.max(0, failures - 1)
  return Math.min(maxMs, initialMs * factor ** steps) * (1 + jitter * fraction)
}
