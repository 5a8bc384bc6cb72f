/**
 * Creates ResourceClaims from templates for pods, removes reservations of deleted and finished pods,
 * deallocates unused claims, and deletes claims generated for finished pods. Allocation is done by the
 * scheduler.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
 */
import { hasAdminAccess, resourceClaimMetrics } from './resource-claim/resource-claim-metrics.ts'
import type { ScalarMetric } from '#/base/metrics.ts'
import { messageOf } from '#/base/message-of.ts'
import { LruMap } from '#/base/lru-map.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type {
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimTemplate,
} from '#/api/generated/resource/v1.ts'
import { resourceClaims, resourceClaimTemplates } from '#/api/generated/resource/v1-resources.ts'
import {
  controllerOf,
  formatKey,
  isBeingDeleted,
  keyOf,
  parseKey,
  withoutFinalizer,
  type Stored,
} from '#/api/metadata.ts'
import { resourceClaimKeysOf, hasSameClaims } from '#/api/core/pod-resource-claims.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { Controller, ControllerContext, ReconcileRequest } from './controller.ts'
import { controllerRefIndex } from './shared/controller-ref-index.ts'
import { isPodTerminal } from './pods.ts'
import { deleteProtectionFinalizer, planResourceClaim } from './resource-claim/plan-resource-claim.ts'
import {
  planEntries,
  planReservations,
  reservedFor,
  statusesWith,
  type PodClaimsWorld,
} from './resource-claim/plan-pod.ts'

export const resourceClaimController: Controller = {
  name: 'resourceclaim-controller',
  queueName: 'resource_claim',
  account: 'resource-claim-controller',
  component: 'resource_claim',
  workers: 50,
  setUp: context => {
    const claiming = new ResourceClaimReconciler(context)
    return request =>
      request.key.startsWith(podPrefix)
        ? claiming.reconcilePod(request.key.slice(podPrefix.length), request)
        : claiming.reconcileClaim(request)
  },
}

/** Distinguishes keys of pods from keys of claims. */
const podPrefix = 'pod '

const fieldManager = 'ResourceClaimController'

/** Size of the cache of deleted pods; for others that are missing the API server is queried. */
const gonePodsMax = 500

class ResourceClaimReconciler {
  readonly #context: ControllerContext
  readonly #pods: Informer<Pod>
  readonly #claims: Informer<ResourceClaim>
  readonly #templates: Informer<ResourceClaimTemplate>
  /** By pod uid. */
  readonly #claimsOf: Index<Stored<ResourceClaim>>
  readonly #gonePods = new LruMap<string, true>(gonePodsMax)
  readonly #creates: ScalarMetric

  constructor(context: ControllerContext) {
    const { informer, enqueue } = context
    this.#context = context
    this.#pods = informer(pods)
    this.#claims = informer(resourceClaims)
    this.#templates = informer(resourceClaimTemplates)
    this.#claimsOf = controllerRefIndex(this.#claims)
    const byClaim = this.#pods.index('resource claim', resourceClaimKeysOf)
    const byTemplate = this.#pods.index('resource claim template', templateKeysOf)
    const enqueuePods = (keys: readonly string[]): void => keys.forEach(key => enqueue(`${podPrefix}${key}`))
    this.#pods.addEventHandler((key, { oldObject, newObject }) => this.#onPod(key, oldObject, newObject))
    this.#claims.addEventHandler((key, { newObject }) => {
      if (newObject) enqueue(key)
      enqueuePods(byClaim.keys(key))
    })
    this.#templates.addEventHandler((key, { newObject }) => newObject && enqueuePods(byTemplate.keys(key)))
    this.#creates = resourceClaimMetrics(context.metrics, () => this.#claims.list())
  }

  #onPod(key: string, before: Stored<Pod> | undefined, after: Stored<Pod> | undefined): void {
    const pod = after ?? before
    if (pod === undefined || !usesClaims(pod)) return
    if (after === undefined) this.#gonePods.set(pod.metadata.uid, true)
    const isOver = after === undefined || isDone(after)
    const wasOver = before !== undefined && isDone(before)
    if (isOver && !(wasOver && after))
      for (const claim of resourceClaimKeysOf(pod)) this.#context.enqueue(claim)
    if (after && !(before && hasSameClaims(before, after))) this.#context.enqueue(`${podPrefix}${key}`)
  }

  async reconcilePod(key: string, request: ReconcileRequest): Promise<void> {
    const pod = this.#pods.get(key)
    if (pod === undefined || isBeingDeleted(pod) || isDone(pod)) return
    const { namespace } = parseKey(key)
    const world: PodClaimsWorld = {
      pod,
      claimNamed: name => this.#claims.get(`${namespace}/${name}`),
      templateNamed: name => this.#templates.get(`${namespace}/${name}`),
      owned: this.#claimsOf.get(pod.metadata.uid),
    }
    await this.#createClaims(world, request)
    for (const claim of planReservations(world))
      await request.client.updateStatus(resourceClaims, reservedFor(claim, pod), { signal: request.signal })
  }

  /** Creates missing claims and records their names in the pod's status. */
  async #createClaims(world: PodClaimsWorld, { client, signal }: ReconcileRequest): Promise<void> {
    const { pod } = world
    const made = new Map<string, string>()
    let failure: unknown
    for (const plan of planEntries(world)) {
      if (plan.action === 'record') made.set(plan.entry, plan.claim)
      // The pod is enqueued when the template is created.
      else if (plan.action === 'wait') this.#warn(pod, plan.entry, plan.problem)
      else {
        const access = String(hasAdminAccess(plan.claim))
        try {
          const claim = await client.create(resourceClaims, plan.claim, { signal })
          made.set(plan.entry, claim.metadata.name)
          this.#creates.with('success', access).add()
        } catch (error) {
          if (signal.aborted) throw error
          this.#creates.with('failure', access).add()
          failure ??= error
          this.#warn(pod, plan.entry, `create ResourceClaim : ${messageOf(error)}`)
        }
      }
    }
    if (made.size > 0) {
      const { namespace, name } = parseKey(keyOf(pod))
      const applied = {
        metadata: { namespace, name },
        status: { resourceClaimStatuses: statusesWith(pod, made) },
      }
      await client.apply(pods, applied, { fieldManager, force: true, subresource: 'status', signal })
    }
    if (failure !== undefined) throw failure
  }

  #warn(pod: Pod, entry: string, problem: string): void {
    const message = `PodResourceClaim ${entry}: ${problem}`
    this.#context.recorder.record(pod, { type: 'Warning', reason: 'FailedResourceClaimCreation', message })
  }

  async reconcileClaim({ key, client, signal }: ReconcileRequest): Promise<void> {
    const claim = this.#claims.get(key)
    if (claim === undefined) return
    const over = await this.#finishedConsumers(claim, client, signal)
    const plan = planResourceClaim({
      claim,
      isOver: ({ uid }) => over.has(uid),
      isOrphan: this.#isOrphan(claim),
    })
    // Updates carry the observed resourceVersion: a concurrent reservation causes a conflict.
    let current = claim
    if (plan.status) {
      current = await client.updateStatus(resourceClaims, { ...claim, status: plan.status }, { signal })
    }
    if (plan.removeFinalizer) {
      await client.update(resourceClaims, withoutFinalizer(current, deleteProtectionFinalizer), { signal })
    }
    if (!plan.delete) return
    try {
      const preconditions = { uid: claim.metadata.uid }
      await client.delete(resourceClaims, parseKey(key), { preconditions, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }

  /** The uids of deleted and finished consumers. */
  async #finishedConsumers(
    claim: ResourceClaim,
    client: ReconcileRequest['client'],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const over = new Set<string>()
    for (const consumer of claim.status?.reservedFor ?? []) {
      if (!isPod(consumer)) continue
      const { name, uid } = consumer
      const at = { namespace: claim.metadata.namespace ?? '', name }
      const isGone = this.#gonePods.get(uid) ?? false
      // The scheduler may have seen a pod that the informer does not show yet, so the API server is queried.
      const pod =
        this.#pods.get(formatKey(at)) ?? (isGone ? undefined : await client.find(pods, at, { signal }))
      if (isGone || pod?.metadata.uid !== uid || isDone(pod)) over.add(uid)
    }
    return over
  }

  /** False if the pod is missing from the informer: the garbage collector handles claims of deleted pods. */
  #isOrphan(claim: ResourceClaim): boolean {
    const owner = controllerOf(claim)
    if (owner?.apiVersion !== 'v1' || owner.kind !== 'Pod') return false
    const pod = this.#pods.get(`${claim.metadata.namespace ?? ''}/${owner.name}`)
    return pod !== undefined && (pod.metadata.uid !== owner.uid || isDone(pod))
  }
}

function usesClaims({ spec, status }: Pod): boolean {
  return (spec?.resourceClaims?.length ?? 0) > 0 || status?.extendedResourceClaimStatus !== undefined
}

/** True if no container is running or will be started. */
function isDone(pod: Pod): boolean {
  return isPodTerminal(pod) || (isBeingDeleted(pod) && !pod.spec?.nodeName)
}

function templateKeysOf({ metadata, spec }: Pod): readonly string[] {
  const names = (spec?.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) => name ?? [])
  return [...new Set(names)].map(name => `${metadata.namespace ?? ''}/${name}`)
}

function isPod({ apiGroup = '', resource }: ResourceClaimConsumerReference): boolean {
  return apiGroup === '' && resource === 'pods'
}
