import { tooLargeResourceVersion } from '#/api/errors.ts'
import type { RequestScope } from './request-scope.ts'

/** Waits until the cache has the required revision. */
export async function waitUntilFresh(
  scope: RequestScope,
  resourceVersion: number | undefined,
): Promise<void> {
  const {
    registry: { cache, platform },
    context: { request },
  } = scope
  if (resourceVersion === 0) return
  if (resourceVersion === undefined) {
    const latest = await cache.latestRevision()
    // Creating the signal has a cost, and the cache is nearly always up to date.
    if (cache.revision < latest) await cache.waitFor(latest, request.signal)
    return
  }
  if (cache.revision >= resourceVersion) return
  const tooLate = new AbortController()
  const timer = platform.clock.setTimer(freshMsMax, () => tooLate.abort())
  try {
    await cache.waitFor(resourceVersion, AbortSignal.any([tooLate.signal, request.signal]))
  } catch (error) {
    if (tooLate.signal.aborted) throw tooLargeResourceVersion(resourceVersion, cache.revision, 1)
    throw error
  } finally {
    timer.cancel()
  }
}

/** Maximum wait for a revision that this server has not seen yet. */
const freshMsMax = 3_000
