/** Renews certificates while the cluster runs, so that no restart is needed. */
import { isDeepStrictEqual } from 'node:util'
import type { Platform } from '#/platform/platform.ts'

export interface RenewCertificatesOptions<T> {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** The certificates in use. */
  readonly current: T
  /** Returns existing certificates if still valid, and renews the others. */
  readonly ensure: () => Promise<T>
  /** Called after a renewal; errors are retried. */
  readonly onRenewed: (next: T) => void | Promise<void>
}

/** Short enough for many attempts before a certificate expires. */
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
      log.error('Failed to renew certificates, will retry', { error })
    }
  }
}
