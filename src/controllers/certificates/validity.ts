/** Validity period of an issued certificate. */

export interface Validity {
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

export interface ValidityRequest {
  readonly expirationSeconds: number | undefined
  readonly nowMs: number
  /** Maximum validity, and the default if `expirationSeconds` is not set. */
  readonly durationMs: number
}

/** Tolerates clock skew: the certificate is already valid on machines with a slow clock. */
const backdatedMs = 5 * 60_000

/** Minimum validity, even if `expirationSeconds` is lower. */
const durationMsMin = 10 * 60_000

/** For certificates shorter than this, the backdating is not subtracted from the validity. */
const shortMs = 8 * 3_600_000

export function planValidity({ expirationSeconds, nowMs, durationMs }: ValidityRequest): Validity {
  const askedMs = expirationSeconds === undefined ? durationMs : expirationSeconds * 1_000
  const givenMs = Math.min(durationMs, Math.max(durationMsMin, askedMs))
  const notAfterMs = nowMs + givenMs - (givenMs < shortMs ? 0 : backdatedMs)
  return { notBeforeMs: nowMs - backdatedMs, notAfterMs }
}
