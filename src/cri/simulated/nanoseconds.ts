/** Nanoseconds since 1970, of milliseconds with fractions. */
export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000)) * 1_000n
}
