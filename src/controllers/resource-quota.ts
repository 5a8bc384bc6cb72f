/**
 * Maintains `status.used` of resource quotas. Quota admission in the API server increases it before a write;
 * this controller decreases it when objects are deleted, and computes it initially. All resources are watched
 * and usage is updated incrementally; a full recount is made only if charged usage has no matching objects.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import { isApiError } from '#/api/errors.ts'
import type { ResourceQuota, ResourceQuotaStatus } from '#/api/generated/core/v1.ts'
import { resourceQuotas } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import { evaluatorFor, scopesOf, type Amounts } from '#/api/quota.ts'
import type { Resource } from '#/api/resource.ts'
import type { Change, Informer } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { followAllKinds } from './all-kinds.ts'
import type { Controller, ControllerContext, Reconcile, Work } from './controller.ts'
import { planQuota } from './resource-quota/plan.ts'
import { QuotaTally, type CountedKind } from './resource-quota/tally.ts'

export const resourceQuotaController: Controller = {
  name: 'resourcequota-controller',
  account: 'resourcequota-controller',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const counter = new QuotaCounter(context)
  return work => counter.look(work)
}

/**
 * Longer than any request can take: a charge without a matching object after this time is stale. If the quota
 * has not changed for this long and still exceeds the counted usage, everything is recounted.
 */
const quietMs = 65_000

interface FollowedKind extends CountedKind {
  readonly resource: Resource
  readonly informer: Informer<KubernetesObject>
}

class QuotaCounter {
  readonly #context: ControllerContext
  readonly #quotas: Informer<ResourceQuota>
  /** Empty until the first discovery has completed. */
  readonly #kinds = new Map<string, FollowedKind>()
  /** By namespace, so that changes in namespaces without quotas are cheap, then by quota key. */
  readonly #tallies = new Map<string, Map<string, QuotaTally>>()
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
    const follow = this.#follow.bind(this)
    followAllKinds(context, follow, isCounted)
  }

  async look({ key, client, signal }: Work): Promise<ReconcileResult | undefined> {
    const quota = this.#quotas.get(key)
    if (quota === undefined || this.#kinds.size === 0) return undefined
    const { clock } = this.#context.platform
    const nowMs = clock.now()
    const tally = this.#tallyOf(quota, nowMs)
    tally.tick(nowMs)
    const released = new Map(tally.released)
    const { status, hasExcess } = planQuota({ quota, counted: tally.counted, released, isSure: false })
    if (status !== undefined) await write(quota, status, { client, tally })
    tally.settle(released)
    if (!hasExcess) this.#suspects.delete(key)
    // After a write, wait until the informer shows it.
    const isSuspect = hasExcess && status === undefined
    const waitMs = isSuspect ? await this.#suspect(quota, { key, client, signal }) : Infinity
    const requeueAfterMs = Math.min(tally.nextChangeMs - nowMs, waitMs)
    return requeueAfterMs === Infinity ? undefined : { requeueAfterMs }
  }

  #follow(resource: Resource, informer: Informer<KubernetesObject>, signal: AbortSignal): void {
    const evaluator = evaluatorFor(resource)
    if (evaluator === undefined) return
    const { group, plural } = resource
    const name = group === '' ? plural : `${plural}.${group}`
    const kind: FollowedKind = { name, evaluator, resource, informer }
    this.#kinds.set(name, kind)
    for (const quota of this.#quotas.list()) {
      if (Object.keys(quota.spec?.hard ?? {}).some(each => evaluator.counts(each))) this.#forget(keyOf(quota))
      this.#context.enqueue(keyOf(quota))
    }
    informer.addEventHandler((key, change) => this.#change(kind, key, change))
    informer.waitForSync(signal).then(
      () => this.#include(kind),
      () => undefined,
    )
  }

  /** Called when the informer of the kind has synced. */
  #include(kind: FollowedKind): void {
    const nowMs = this.#context.platform.clock.now()
    for (const [namespace, tallies] of this.#tallies) {
      for (const [key, tally] of tallies) {
        if (!tally.awaited.has(kind)) continue
        tally.include(kind, kind.informer.inNamespace(namespace), nowMs)
        this.#context.enqueue(key)
      }
    }
  }

  #change(kind: FollowedKind, key: string, { oldObject, newObject }: Change<KubernetesObject>): void {
    const tallies = this.#tallies.get((newObject ?? oldObject).metadata?.namespace ?? '')
    if (tallies === undefined) return
    const { platform, enqueue } = this.#context
    const nowMs = platform.clock.now()
    for (const [quotaKey, tally] of tallies) {
      const hasNews = newObject === undefined ? tally.remove(kind, key) : tally.change(kind, newObject, nowMs)
      if (hasNews) enqueue(quotaKey)
    }
  }

  #tallyOf(quota: ResourceQuota, nowMs: number): QuotaTally {
    const namespace = quota.metadata?.namespace ?? ''
    const tallies = this.#tallies.get(namespace) ?? new Map<string, QuotaTally>()
    this.#tallies.set(namespace, tallies)
    const known = tallies.get(keyOf(quota))
    if (known !== undefined) return known
    const tally = new QuotaTally(quota, [...this.#kinds.values()])
    for (const kind of this.#kinds.values()) {
      if (!tally.awaited.has(kind) || !kind.informer.hasSynced) continue
      tally.include(kind, kind.informer.inNamespace(namespace), nowMs)
    }
    tallies.set(keyOf(quota), tally)
    return tally
  }

  #forget(key: string): void {
    const namespace = key.slice(0, key.indexOf('/'))
    const tallies = this.#tallies.get(namespace)
    tallies?.delete(key)
    if (tallies?.size === 0) this.#tallies.delete(namespace)
    this.#suspects.delete(key)
  }

  /** Time until charges can be considered stale. When it has passed, everything is recounted. */
  async #suspect(quota: ResourceQuota, work: Pick<Work, 'key' | 'client' | 'signal'>): Promise<number> {
    const version = quota.metadata?.resourceVersion ?? ''
    const nowMs = this.#context.platform.clock.monotonicMs()
    const known = this.#suspects.get(work.key)
    const sinceMs = known?.version === version ? known.sinceMs : nowMs
    const leftMs = sinceMs + quietMs - nowMs
    this.#suspects.set(work.key, { version, sinceMs: leftMs > 0 ? sinceMs : nowMs })
    if (leftMs > 0) return leftMs
    await this.#recount(quota, work)
    return quietMs
  }

  /** Lists from the API server, since informers may lag behind. */
  async #recount(quota: ResourceQuota, { client, signal }: Pick<Work, 'client' | 'signal'>): Promise<void> {
    const namespace = quota.metadata?.namespace ?? ''
    const tally = new QuotaTally(quota, [...this.#kinds.values()])
    for (const kind of this.#kinds.values()) {
      if (!tally.awaited.has(kind) || !kind.informer.hasSynced) continue
      const { items } = await client.listAll(kind.resource, { namespace, signal })
      tally.include(kind, items, this.#context.platform.clock.now())
    }
    const { counted } = tally
    const { status } = planQuota({ quota, counted, released: nothing, isSure: true })
    if (status !== undefined) await write(quota, status, { client, tally })
  }
}

const nothing: Amounts = new Map()

interface Writing extends Pick<Work, 'client'> {
  readonly tally: QuotaTally
}

/** Writes with the observed resourceVersion. */
async function write(
  quota: ResourceQuota,
  status: ResourceQuotaStatus,
  { client, tally }: Writing,
): Promise<void> {
  try {
    await client.updateStatus(resourceQuotas, { ...quota, status })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    // The write may have succeeded, and usage must not be released twice.
    if (!isApiError(error, 'Conflict')) tally.doubt()
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
