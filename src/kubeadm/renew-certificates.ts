/** Renews certificates while the cluster runs, so that no restart is needed. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock, Platform } from '#/platform/platform.ts'

export interface RenewCertificatesOptions<T> {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** The certificates in use. */
  readonly current: T
  /** Returns existing certificates if still valid, and renews the others. */
  readonly ensure: () => Promise<T>
  /** Called after a renewal; errors are retried. */
  readonly onRenewed: (next: T) => void | Promise<void>
  readonly onFailure?: () => void
}

/** Short enough for many attempts before a certificate expires. */
const checkIntervalMs = 12 * 3_600_000

/** After a failure, since after a jump of the clock the certificates in use have expired. */
const retryMs = 60_000

/** Interval in which a jump of the wall clock is noticed. */
const jumpCheckMs = 10_000

/** A smaller difference is a correction of the clock, which no certificate depends on. */
const jumpMinMs = 60_000

/** Resolves when aborted. */
export async function renewCertificates<T>(
  options: RenewCertificatesOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const {
    platform: { clock, log },
    ensure,
    onRenewed,
    onFailure,
  } = options
  let { current } = options
  let waitMs = checkIntervalMs
  for (;;) {
    await waitOrClockJump(clock, waitMs, signal)
    if (signal.aborted) return
    waitMs = checkIntervalMs
    try {
      const next = await ensure()
      if (isDeepStrictEqual(next, current)) continue
      await onRenewed(next)
      current = next
    } catch (error) {
      waitMs = retryMs
      onFailure?.()
      log.error('Failed to renew certificates, will retry', { error })
    }
  }
}

/**
 * Resolves after the time, when the wall clock has jumped, or when aborted. Also the sleep of a machine is a jump: the
 * monotonic clock stands still meanwhile.
 */
async function waitOrClockJump(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const endMs = clock.monotonicMs() + delayMs
  const offsetMs = wallOffsetMs(clock)
  while (!signal.aborted) {
    const leftMs = endMs - clock.monotonicMs()
    if (leftMs <= 0 || Math.abs(wallOffsetMs(clock) - offsetMs) >= jumpMinMs) return
    await clock.sleep(Math.min(leftMs, jumpCheckMs), signal).catch(() => undefined)
  }
}

function wallOffsetMs(clock: Clock): number {
  return clock.now() - clock.monotonicMs()
}
