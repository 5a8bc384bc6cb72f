/** Converts milliseconds with fractions to nanoseconds since the Unix epoch. */
export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1_000)) * 1_000n
}
