/**
 * Says in the status of each quota how much of it is used. The API server adds to that what a write will use; here it
 * is taken back when objects go, and counted where nobody counted yet. Every kind is followed, and what changes is
 * added up as it changes: nothing is counted anew but when something was entered and nothing came of it.
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
import type { Again } from '#/client/workqueue.ts'
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
 * So long after something was entered the object is there, or never comes: no request takes longer. When the quota has
 * not changed for so long and more is entered than there is, everything is counted anew.
 */
const quietMs = 65_000

interface FollowedKind extends CountedKind {
  readonly resource: Resource
  readonly informer: Informer<KubernetesObject>
}

class QuotaCounter {
  readonly #context: ControllerContext
  readonly #quotas: Informer<ResourceQuota>
  /** None until the server has said what there is; then all that it has. */
  readonly #kinds = new Map<string, FollowedKind>()
  /** By namespace, so that what changes where there is no quota costs nothing, and by the key of the quota. */
  readonly #tallies = new Map<string, Map<string, QuotaTally>>()
  /** Quotas that have more entered than there is: in which version, and since when that is known. */
  readonly #suspects = new Map<string, { readonly version: string; readonly sinceMs: number }>()

  constructor(context: ControllerContext) {
    this.#context = context
    this.#quotas = context.informer(resourceQuotas)
    this.#quotas.onChange((key, { before, after }) => {
      if (after === undefined || before === undefined || !asksTheSame(before, after)) this.#forget(key)
      context.enqueue(key)
    })
    const follow = this.#follow.bind(this)
    followAllKinds(context, follow, isCounted)
  }

  async look({ key, client, signal }: Work): Promise<Again | undefined> {
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
    // What was just written is looked at when it is here.
    const isSuspect = hasExcess && status === undefined
    const waitMs = isSuspect ? await this.#suspect(quota, { key, client, signal }) : Infinity
    const againAfterMs = Math.min(tally.nextChangeMs - nowMs, waitMs)
    return againAfterMs === Infinity ? undefined : { againAfterMs }
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
    informer.onChange((key, change) => this.#change(kind, key, change))
    informer.waitForSync(signal).then(
      () => this.#include(kind),
      () => undefined,
    )
  }

  /** All objects of the kind are known now. */
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

  #change(kind: FollowedKind, key: string, { before, after }: Change<KubernetesObject>): void {
    const tallies = this.#tallies.get((after ?? before).metadata?.namespace ?? '')
    if (tallies === undefined) return
    const { platform, enqueue } = this.#context
    const nowMs = platform.clock.now()
    for (const [quotaKey, tally] of tallies) {
      const hasNews = after === undefined ? tally.remove(kind, key) : tally.change(kind, after, nowMs)
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

  /** How long to wait for what may be on its way. When that was long enough, everything is counted anew. */
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

  /** Asks the server and not our copies, which may be behind. */
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

/** Nothing is written when the quota is no longer what was looked at. */
async function write(
  quota: ResourceQuota,
  status: ResourceQuotaStatus,
  { client, tally }: Writing,
): Promise<void> {
  try {
    await client.updateStatus(resourceQuotas, { ...quota, status })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    // It may have been written, and must not be taken back twice.
    if (!isApiError(error, 'Conflict')) tally.doubt()
    throw error
  }
}

function isCounted(resource: Resource): boolean {
  const { scope, verbs } = resource
  return scope === 'Namespaced' && verbs.includes('create') && evaluatorFor(resource) !== undefined
}

/** Whether what counts is the same, however much of it is allowed. */
function asksTheSame(before: ResourceQuota, after: ResourceQuota): boolean {
  const question = (quota: ResourceQuota): unknown => [
    Object.keys(quota.spec?.hard ?? {}).sort(),
    scopesOf(quota),
  ]
  return equalJson(question(before), question(after))
}
