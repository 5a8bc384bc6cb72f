/**
 * The ResourceQuotas of a namespace and their usage. Usage is charged before the object is stored, in a write
 * with a revision precondition, so concurrent writes never exceed a quota, even through several API servers.
 * If the object is not stored in the end, the charge remains until the quota controller recalculates usage.
 */
import { serviceUnavailable } from '#/api/errors.ts'
import { resourceQuotas } from '#/api/generated/core/v1-resources.ts'
import type { ResourceQuota } from '#/api/generated/core/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { amountsOf, toResourceList, scopesOf, type Amounts } from '#/api/quota.ts'
import { LruMap } from '#/base/lru-map.ts'
import { StoreError } from '#/store/store.ts'
import type { Registry } from '../../../registry/registry.ts'
import { prefixOf } from '../../../registry/store-keys.ts'
import { encodeForStore, StoredObject } from '../../../registry/stored-object.ts'
import type { QuotaState } from './plan-charge.ts'

export interface StoredQuota extends QuotaState {
  readonly stored: StoredObject
}

/** On a conflict, the current quota; undefined if the quota was deleted. */
export type UpdateResult =
  | { readonly isDone: true }
  | { readonly isDone: false; readonly current: StoredQuota | undefined }

export class QuotaAccessor {
  readonly #registry: Pick<Registry, 'cache' | 'store'>
  /** Quotas as last written or read by this server; may be newer than the cache. */
  readonly #newest = new LruMap<string, StoredObject>(newestMax)

  constructor(registry: Pick<Registry, 'cache' | 'store'>) {
    this.#registry = registry
  }

  hasAny(namespace: string): boolean {
    for (const _ of this.#registry.cache.list(quotasIn(namespace))) return true
    return false
  }

  of(namespace: string): readonly StoredQuota[] {
    return [...this.#registry.cache.list(quotasIn(namespace))].map(cached => {
      const newest = this.#newest.get(cached.key)
      return storedQuotaOf(newest && newest.revision > cached.revision ? newest : cached)
    })
  }

  /** Stores the new usage. Throws ApiError if the store is unavailable. */
  async updateStatus({ stored }: StoredQuota, used: Amounts): Promise<UpdateResult> {
    const { cache, store } = this.#registry
    const { status, ...quota } = stored.object as Stored<ResourceQuota>
    const changed: KubernetesObject = {
      ...quota,
      status: { ...status, used: toResourceList(used) },
    } as ResourceQuota
    const bytes = encodeForStore(changed)
    cache.noteWrite(bytes, changed)
    const result = await store
      .update(stored.key, bytes, { expectedRevision: stored.revision })
      .catch((cause: unknown) => {
        if (!(cause instanceof StoreError)) throw cause
        throw serviceUnavailable(`the store could not update the quota: ${cause.message}`)
      })
    if (result.written) {
      this.#newest.set(
        stored.key,
        new StoredObject({ key: stored.key, revision: result.revision, value: bytes }, changed),
      )
      return { isDone: true }
    }
    const { current } = result
    if (current === undefined) return { isDone: false, current: undefined }
    const seen = new StoredObject(current)
    this.#newest.set(seen.key, seen)
    return { isDone: false, current: storedQuotaOf(seen) }
  }
}

/**
 * Maximum number of entries; past it the cached version is used, and an outdated write conflicts and is
 * retried.
 */
const newestMax = 1_000

function quotasIn(namespace: string): string {
  return prefixOf(resourceQuotas, namespace)
}

/** Computed once per version of the quota. */
function storedQuotaOf(stored: StoredObject): StoredQuota {
  return stored.form('quota state', () => {
    const quota = stored.peek() as Stored<ResourceQuota>
    return {
      stored,
      name: quota.metadata.name,
      scopes: scopesOf(quota),
      hard: amountsOf(quota.status?.hard),
      used: amountsOf(quota.status?.used),
    }
  })
}
