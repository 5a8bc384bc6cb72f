/** Renews certificates while a component runs, so that no restart is needed. */
import { isDeepStrictEqual } from 'node:util'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { Clock, Platform } from '#/platform/platform.ts'

export interface RenewCertificatesOptions<T> {
  readonly platform: Pick<Platform, 'clock' | 'log' | 'random'>
  /** The certificates in use. */
  readonly current: T
  /** Returns existing certificates if still valid, and renews the others. Aborted with `run`. */
  readonly ensure: (signal: AbortSignal) => Promise<T>
  /** Called after a renewal; errors are retried. */
  readonly onRenewed: (next: T) => void | Promise<void>
  readonly onFailure?: (error: unknown) => void
  /** Checked every few seconds: true if the certificates must be renewed before the next regular check. */
  readonly isDue?: (current: T) => boolean
  /** Between attempts after a failure. */
  readonly retry?: Backoff
}

/** Short enough for many attempts before a certificate expires. */
const checkIntervalMs = 12 * 3_600_000

/** After a failure, since after a jump of the clock the certificates in use have expired. */
const retryUsual: Backoff = { initialMs: 60_000, maxMs: 60_000, factor: 1, jitter: 0 }

/** Interval in which a jump of the wall clock, or a due renewal, is noticed. */
const jumpCheckMs = 10_000

/** A smaller difference is a correction of the clock, which no certificate depends on. */
const jumpMinMs = 60_000

/** Resolves when aborted. */
export async function renewCertificates<T>(
  options: RenewCertificatesOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const {
    platform: { clock, log, random },
    ensure,
    onRenewed,
    onFailure,
    isDue = () => false,
    retry = retryUsual,
  } = options
  let { current } = options
  let failures = 0
  for (;;) {
    if (failures === 0) {
      await waitForCheck(clock, { delayMs: checkIntervalMs, isDue: () => isDue(current) }, signal)
    } else {
      const delayMs = backoffMs(failures, retry, random.fraction('certificate-renewal'))
      await waitForCheck(clock, { delayMs, isDue: () => false }, signal)
    }
    if (signal.aborted) return
    try {
      const next = await ensure(signal)
      failures = 0
      if (isDeepStrictEqual(next, current)) continue
      await onRenewed(next)
      current = next
    } catch (error) {
      if (signal.aborted) return
      failures++
      onFailure?.(error)
      log.error('Failed to renew certificates, will retry', { error })
    }
  }
}

interface Wait {
  readonly delayMs: number
  readonly isDue: () => boolean
}

/**
 * Resolves after the time, when a renewal is due, when the wall clock has jumped, or when aborted. Also the sleep of a
 * machine is a jump: the monotonic clock stands still meanwhile.
 */
async function waitForCheck(clock: Clock, { delayMs, isDue }: Wait, signal: AbortSignal): Promise<void> {
  const endMs = clock.monotonicMs() + delayMs
  const offsetMs = wallOffsetMs(clock)
  while (!signal.aborted) {
    const leftMs = endMs - clock.monotonicMs()
    if (leftMs <= 0 || Math.abs(wallOffsetMs(clock) - offsetMs) >= jumpMinMs) return
    await clock.sleep(Math.min(leftMs, jumpCheckMs), signal).catch(() => undefined)
    if (isDue()) return
  }
}

function wallOffsetMs(clock: Clock): number {
  return clock.now() - clock.monotonicMs()
}
