/** Upper bounds of a histogram: `start`, then each `factor` times the one before it. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  const buckets: number[] = []
  for (let bound = start; buckets.length < count; bound *= factor) buckets.push(bound)
  return buckets
}
