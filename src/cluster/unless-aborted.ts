/** Rejects with the signal's reason when it is aborted first. */
export async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  await Promise.race([promise, aborted])
  signal?.removeEventListener('abort', abort)
}
