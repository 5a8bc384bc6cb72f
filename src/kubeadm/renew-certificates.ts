/**
 * A cluster may run for longer than its certificates last: looks after them while it runs, and hands over new
 * ones, so that nothing has to be started again.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Platform } from '#/platform/platform.ts'

export interface RenewCertificatesOptions<T> {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** What there is now. */
  readonly current: T
  /** Gives back what is there while it serves, and makes anew what does not. */
  readonly ensure: () => Promise<T>
  /** Called when something is new. What fails is tried again. */
  readonly onRenewed: (next: T) => void | Promise<void>
}

/** Often enough to try many times before what is about to expire has expired. */
const checkIntervalMs = 12 * 3_600_000

/** Resolves when aborted. */
export async function renewCertificates<T>(
  options: RenewCertificatesOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const {
    platform: { clock, log },
    ensure,
    onRenewed,
  } = options
  let { current } = options
  while (!signal.aborted) {
    await clock.sleep(checkIntervalMs, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const next = await ensure()
      if (isDeepStrictEqual(next, current)) continue
      await onRenewed(next)
      current = next
    } catch (error) {
      log.error('cannot renew the certificates; trying again later', { error })
    }
  }
}
