/**
 * Maintains `status.used` of resource quotas. Quota admission in the API server increases it before a write;
 * this controller decreases it when objects are deleted, and computes it initially. All resources are watched
 * and usage is updated incrementally; a full recount is made only if charged usage has no matching objects.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import { isApiError } from '#/api/errors.ts'
import type { ResourceQuota, ResourceQuotaStatus } from '#/api/generated/core/v1.ts'
import { resourceQuotas } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { keyOf, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import { evaluatorFor, isUsageOfContent, scopesOf, type Amounts } from '#/api/quota.ts'
import { qualifiedResourceName, type Resource } from '#/api/resource.ts'
import type { Change, Informer } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { watchAllResources } from './shared/watch-all-resources.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { planQuota } from './resource-quota/plan.ts'
import { QuotaUsage, type CountedKind } from './resource-quota/quota-usage.ts'

export const resourceQuotaController: Controller = {
  name: 'resourcequota-controller',
  queueName: 'resourcequota_primary',
  account: 'resourcequota-controller',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const counter = new QuotaCounter(context)
  return request => counter.reconcile(request)
}

/**
 * Longer than any request can take: a charge without a matching object after this time is stale. If the quota
 * has not changed for this long and still exceeds the counted usage, everything is recounted.
 */
const quietMs = 65_000

interface WatchedKind extends CountedKind {
  readonly resource: Resource
  readonly informer: Informer<KubernetesObject>
}

class QuotaCounter {
  readonly #context: ControllerContext
  readonly #quotas: Informer<ResourceQuota>
  /** Empty until the first discovery has completed. */
  readonly #kinds = new Map<string, WatchedKind>()
  /** By namespace, so that changes in namespaces without quotas are cheap, then by quota key. */
  readonly #usages = new Map<string, Map<string, QuotaUsage>>()
  /** Quotas in which `used` exceeds the counted usage, with the resourceVersion and since when. */
  readonly #suspects = new Map<string, { readonly version: string; readonly sinceMs: number }>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#quotas = context.informer(resourceQuotas)
    this.#quotas.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject === undefined || oldObject === undefined || !asksTheSame(oldObject, newObject))
        this.#forget(key)
      context.enqueue(key)
    })
    const follow = this.#watch.bind(this)
    watchAllResources(context, follow, { isWanted: isCounted, needsWhole: isUsageOfContent })
  }

  async reconcile({ key, client, signal }: ReconcileRequest): Promise<ReconcileResult | undefined> {
    const quota = this.#quotas.get(key)
    if (quota === undefined || this.#kinds.size === 0) return undefined
    const { clock } = this.#context.platform
    const nowMs = clock.now()
    const usage = this.#usageOf(quota, nowMs)
    usage.expire(nowMs)
    const released = new Map(usage.released)
    const { status, hasExcess } = planQuota({ quota, counted: usage.counted, released, isSure: false })
    if (status !== undefined) await write(quota, status, { client, usage })
    usage.confirmReleased(released)
    if (!hasExcess) this.#suspects.delete(key)
    // After a write, wait until the informer shows it.
    const isSuspect = hasExcess && status === undefined
    const waitMs = isSuspect ? await this.#suspect(quota, { key, client, signal }) : Infinity
    const requeueAfterMs = Math.min(usage.nextChangeMs - nowMs, waitMs)
    return requeueAfterMs === Infinity ? undefined : { requeueAfterMs }
  }

  #watch(resource: Resource, informer: Informer<KubernetesObject>, signal: AbortSignal): void {
    const evaluator = evaluatorFor(resource)
    if (evaluator === undefined) return
    const name = qualifiedResourceName(resource)
    const kind: WatchedKind = { name, evaluator, resource, informer }
    this.#kinds.set(name, kind)
    for (const quota of this.#quotas.list()) {
      if (Object.keys(quota.spec?.hard ?? {}).some(each => evaluator.matchesResource(each)))
        this.#forget(keyOf(quota))
      this.#context.enqueue(keyOf(quota))
    }
    informer.addEventHandler((key, change) => this.#change(kind, key, change))
    informer.waitForSync(signal).then(
      () => this.#include(kind),
      () => undefined,
    )
  }

  /** Called when the informer of the kind has synced. */
  #include(kind: WatchedKind): void {
    const nowMs = this.#context.platform.clock.now()
    for (const [namespace, usages] of this.#usages) {
      for (const [key, usage] of usages) {
        if (!usage.awaited.has(kind)) continue
        usage.include(kind, kind.informer.inNamespace(namespace), nowMs)
        this.#context.enqueue(key)
      }
    }
  }

  #change(kind: WatchedKind, key: string, { oldObject, newObject }: Change<KubernetesObject>): void {
    const usages = this.#usages.get((newObject ?? oldObject).metadata.namespace ?? '')
    if (usages === undefined) return
    const { platform, enqueue } = this.#context
    const nowMs = platform.clock.now()
    for (const [quotaKey, usage] of usages) {
      const hasNews = newObject === undefined ? usage.remove(kind, key) : usage.change(kind, newObject, nowMs)
      if (hasNews) enqueue(quotaKey)
    }
  }

  #usageOf(quota: Stored<ResourceQuota>, nowMs: number): QuotaUsage {
    const namespace = quota.metadata.namespace ?? ''
    const usages = this.#usages.getOrInsertComputed(namespace, () => new Map())
    const known = usages.get(keyOf(quota))
    if (known !== undefined) return known
    const usage = new QuotaUsage(quota, [...this.#kinds.values()])
    for (const kind of this.#kinds.values()) {
      if (!usage.awaited.has(kind) || !kind.informer.hasSynced) continue
      usage.include(kind, kind.informer.inNamespace(namespace), nowMs)
    }
    usages.set(keyOf(quota), usage)
    return usage
  }

  #forget(key: string): void {
    const namespace = key.slice(0, key.indexOf('/'))
    const usages = this.#usages.get(namespace)
    usages?.delete(key)
    if (usages?.size === 0) this.#usages.delete(namespace)
    this.#suspects.delete(key)
  }

  /** Time until charges can be considered stale. When it has passed, everything is recounted. */
  async #suspect(
    quota: Stored<ResourceQuota>,
    request: Pick<ReconcileRequest, 'key' | 'client' | 'signal'>,
  ): Promise<number> {
    const version = quota.metadata.resourceVersion
    const nowMs = this.#context.platform.clock.monotonicMs()
    const known = this.#suspects.get(request.key)
    const sinceMs = known?.version === version ? known.sinceMs : nowMs
    const leftMs = sinceMs + quietMs - nowMs
    this.#suspects.set(request.key, { version, sinceMs: leftMs > 0 ? sinceMs : nowMs })
    if (leftMs > 0) return leftMs
    await this.#recount(quota, request)
    return quietMs
  }

  /** Lists from the API server, since informers may lag behind. */
  async #recount(
    quota: ResourceQuota,
    { client, signal }: Pick<ReconcileRequest, 'client' | 'signal'>,
  ): Promise<void> {
    const namespace = quota.metadata.namespace ?? ''
    const usage = new QuotaUsage(quota, [...this.#kinds.values()])
    for (const kind of this.#kinds.values()) {
      if (!usage.awaited.has(kind) || !kind.informer.hasSynced) continue
      const { items } = await client.listAll(kind.resource, { namespace, signal })
      usage.include(kind, items, this.#context.platform.clock.now())
    }
    const { counted } = usage
    const { status } = planQuota({ quota, counted, released: nothing, isSure: true })
    if (status !== undefined) await write(quota, status, { client, usage })
  }
}

const nothing: Amounts = new Map()

interface Writing extends Pick<ReconcileRequest, 'client'> {
  readonly usage: QuotaUsage
}

/** Writes with the observed resourceVersion. */
async function write(
  quota: ResourceQuota,
  status: ResourceQuotaStatus,
  { client, usage }: Writing,
): Promise<void> {
  try {
    await client.updateStatus(resourceQuotas, { ...quota, status })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    // The write may have succeeded, and usage must not be released twice.
    if (!isApiError(error, 'Conflict')) usage.discardReleased()
    throw error
  }
}

function isCounted(resource: Resource): boolean {
  const { scope, verbs } = resource
  return scope === 'Namespaced' && verbs.includes('create') && evaluatorFor(resource) !== undefined
}

/** True if both count the same resources and scopes, regardless of the limits. */
function asksTheSame(before: ResourceQuota, after: ResourceQuota): boolean {
  const question = (quota: ResourceQuota): unknown => [
    Object.keys(quota.spec?.hard ?? {}).sort(),
    scopesOf(quota),
  ]
  return equalJson(question(before), question(after))
}
