/** How long a certificate is valid. */

export interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

export interface ValidityQuestion {
  readonly expirationSeconds: number | undefined
  readonly nowMs: number
  /** What is given when nothing is asked for, and at most. */
  readonly durationMs: number
}

/** Clocks differ: what is made now is valid on a machine that is a little behind. */
const backdatedMs = 5 * 60_000

/** Less is not given, whatever is asked for. */
const durationMsMin = 10 * 60_000

/** A certificate that is valid for less than this has its whole time after now. */
const shortMs = 8 * 3_600_000

export function planValidity({ expirationSeconds, nowMs, durationMs }: ValidityQuestion): Validity {
  const askedMs = expirationSeconds === undefined ? durationMs : expirationSeconds * 1_000
  const givenMs = Math.min(durationMs, Math.max(durationMsMin, askedMs))
  const notAfterMs = nowMs + givenMs - (givenMs < shortMs ? 0 : backdatedMs)
  return { notBeforeMs: nowMs - backdatedMs, notAfterMs }
}
