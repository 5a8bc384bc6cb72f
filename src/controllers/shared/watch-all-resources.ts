/**
 * Starts an informer for every resource that the API server serves, including custom resources that are
 * defined while the controllers run. For controllers that handle objects of any kind.
 */
import { backoffMs } from '#/base/backoff.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import { discoverApi } from '#/client/discovery.ts'
import type { Informer } from '#/client/informer.ts'
import type { ControllerContext } from '../controller.ts'

/** Debounce: resources defined within this time are discovered together. */
const rediscoverMs = 1_000

const retry = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0 }

/** Changes to these resources trigger a new discovery. */
const definitions: ReadonlySet<string> = new Set(['customresourcedefinitions', 'apiservices'])

export type OnResource = (
  resource: Resource,
  informer: Informer<KubernetesObject>,
  signal: AbortSignal,
) => void

export interface WatchedResources {
  readonly isWanted: (resource: Resource) => boolean
  /** True if more than the metadata of the objects is needed. */
  readonly needsWhole: (resource: Resource) => boolean
  /** Called when discovery fails. */
  readonly onError?: () => void
}

const metadataOfAll: WatchedResources = { isWanted: () => true, needsWhole: () => false }

/**
 * Calls `onResource` once for each resource that supports list, watch and delete, except those excluded by
 * `isWanted` and except events, which are numerous and have no owners.
 */
export function watchAllResources(
  context: ControllerContext,
  onResource: OnResource,
  { isWanted, needsWhole, onError }: WatchedResources = metadataOfAll,
): void {
  const { platform, client, informer, metadataInformer, background } = context
  const known = new Set<string>()
  let rediscover: (() => void) | undefined
  /** Resolves with the versions of extension servers whose resources are not known yet. */
  const discover = async (signal: AbortSignal): Promise<readonly string[]> => {
    const { resources, staleGroupVersions } = await discoverApi(client, signal)
    for (const resource of resources) {
      const key = qualifiedResourceName(resource)
      if (known.has(key) || !isWatched(resource)) continue
      known.add(key)
      const watched = needsWhole(resource) ? informer(resource) : metadataInformer(resource)
      if (isWanted(resource)) onResource(resource, watched, signal)
      if (definitions.has(resource.plural)) watched.addEventHandler(() => rediscover?.())
    }
    return staleGroupVersions
  }
  background(async signal => {
    signal.addEventListener('abort', () => rediscover?.(), { once: true })
    for (let failures = 0; !signal.aborted;) {
      const changed = new Promise<void>(resolve => {
        rediscover = resolve
      })
      try {
        const stale = await discover(signal)
        failures = stale.length === 0 ? 0 : failures + 1
        // No event tells when an extension server answers again.
        const retryMs = backoffMs(failures, retry, 0)
        const timer = failures === 0 ? undefined : platform.clock.setTimer(retryMs, () => rediscover?.())
        await changed
        timer?.cancel()
        await platform.clock.sleep(rediscoverMs, signal)
      } catch (error) {
        if (signal.aborted) return
        failures++
        onError?.()
        platform.log.warn('Failed to discover resources', { error })
        await platform.clock.sleep(backoffMs(failures, retry, 0), signal).catch(() => undefined)
      }
    }
  })
}

const needed = ['list', 'watch', 'delete'] as const

function isWatched({ plural, verbs }: Resource): boolean {
  return plural !== 'events' && needed.every(verb => verbs.includes(verb))
}
