/** How long to wait before trying again: longer after each failure, up to a bound. */
export interface Backoff {
  readonly initialMs: number
  readonly maxMs: number
  /** How much longer each wait is than the one before. */
  readonly factor: number
  /**
   * Up to this part of a wait is added to it, so that those who failed together do not come back together.
   */
  readonly jitter: number
}

/** The wait after so many failures, from 1. `fraction` is a random number from 0 to 1. */
export function backoffMs(
  failures: number,
  { initialMs, maxMs, factor, jitter }: Backoff,
  fraction: number,
): number {
  const steps = Math.max(0, failures - 1)
  return Math.min(maxMs, initialMs * factor ** steps) * (1 + jitter * fraction)
}
