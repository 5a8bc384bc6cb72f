/** What is asked for comes in batches: one, two, four. A quota that refuses the first refuses a thousand only once. */
export interface SlowStart {
  readonly succeeded: number
  /** The first error of the batch that had one; no further batch was begun. */
  readonly error: unknown
}

export async function slowStart(
  count: number,
  perform: (index: number) => Promise<unknown>,
): Promise<SlowStart> {
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
