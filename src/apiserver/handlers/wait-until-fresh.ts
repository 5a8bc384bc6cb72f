import { tooLargeResourceVersion } from '#/api/errors.ts'
import type { RequestScope } from './request-scope.ts'

/** Waits until the cache has the required revision. */
export async function waitUntilFresh(
  scope: RequestScope,
  resourceVersion: number | undefined,
): Promise<void> {
  const {
    registry: { cache, platform, metrics },
    context: { request },
    resource,
  } = scope
  const { watchCache } = metrics ?? {}
  if (resourceVersion === 0) return
  if (resourceVersion === undefined) {
    const latest = await cache.latestRevision()
    // Creating the signal has a cost, and the cache is nearly always up to date.
    if (cache.revision < latest) await measured(scope, () => cache.waitFor(latest, request.signal))
    watchCache?.recordConsistentRead(resource)
    return
  }
  if (cache.revision >= resourceVersion) return
  if (resource.rules?.ttlMs !== undefined) {
    // Events are read from the store in Kubernetes, which knows at once that the revision does not exist yet.
    const latest = await cache.latestRevision()
    if (latest < resourceVersion) throw tooLargeResourceVersion(resourceVersion, latest, 0)
  }
  const tooLate = new AbortController()
  const timer = platform.clock.setTimer(freshMsMax, () => tooLate.abort())
  try {
    const signal = AbortSignal.any([tooLate.signal, request.signal])
    await measured(scope, () => cache.waitFor(resourceVersion, signal))
  } catch (error) {
    if (tooLate.signal.aborted) throw tooLargeResourceVersion(resourceVersion, cache.revision, 1)
    throw error
  } finally {
    timer.cancel()
  }
}

async function measured({ registry, resource }: RequestScope, wait: () => Promise<void>): Promise<void> {
  const { platform, metrics } = registry
  const startedMs = platform.clock.monotonicMs()
  try {
    await wait()
  } finally {
    const seconds = (platform.clock.monotonicMs() - startedMs) / 1_000
    metrics?.watchCache.readWait(resource.group, resource.plural).observe(seconds)
  }
}

/** Maximum wait for a revision that this server has not seen yet. */
const freshMsMax = 3_000
