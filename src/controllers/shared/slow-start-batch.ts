/**
 * Runs operations in batches of 1, 2, 4 and so on, so that a persistent failure, such as an exceeded quota,
 * is hit once and not a thousand times.
 */
export interface SlowStartResult {
  readonly succeeded: number
  /** The first error of a failed batch; no further batch is started. */
  readonly error: unknown
}

export async function slowStartBatch(
  count: number,
  perform: (index: number) => Promise<unknown>,
): Promise<SlowStartResult> {
  let succeeded = 0
  for (let done = 0, batch = 1; done < count; done += batch, batch *= 2) {
    const size = Math.min(batch, count - done)
    const results = await Promise.allSettled(
      Array.from({ length: size }, (_, index) => perform(done + index)),
    )
    const failed = results.find(result => result.status === 'rejected')
    succeeded += results.filter(result => result.status === 'fulfilled').length
    if (failed) return { succeeded, error: failed.reason }
  }
  return { succeeded, error: undefined }
}
