/**
 * ReplicaSets and ReplicationControllers maintain a number of pods from a template. They differ only in their
 * selectors.
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/
 */
import { parseTime } from '#/api/text/time.ts'
import type { HistogramSeries, MetricsRegistry } from '#/base/metrics.ts'
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods, replicationControllers } from '#/api/generated/core/v1-resources.ts'
import { controllerOf, isBeingDeleted, isControlledBy, keyOf, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { compileLabelSelector, selectorFromLabels, type Selector } from '#/api/selectors/selector.ts'
import { claimObjects } from './shared/controller-ref.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { onOrphan, enqueueForOwner, orphanIndex, controllerRefIndex } from './shared/controller-ref-index.ts'
import { isPodActive, isPodReady, isPodTerminal, nextAvailableMs } from './pods.ts'
import { planReplicas } from './replica-set/plan.ts'
import type { ReplicaSetLike } from './replica-set/replica-set-like.ts'
import { scale } from './replica-set/scale.ts'
import { planStatus } from './replica-set/status.ts'

export const replicaSetController = replicaSetLikeController({
  name: 'replicaset-controller',
  queueName: 'replicaset',
  account: 'replicaset-controller',
  resource: replicaSets,
  selectorOf: set => compileLabelSelector(set.spec?.selector),
})

export const replicationControllerController = replicaSetLikeController({
  name: 'replicationcontroller-controller',
  queueName: 'replicationmanager',
  account: 'replication-controller',
  resource: replicationControllers as Resource<ReplicaSetLike>,
  selectorOf: set => selectorFromLabels(set.spec?.selector as Readonly<Record<string, string>>),
})

interface ReplicaSetLikeKind {
  readonly name: string
  readonly queueName: string
  readonly account: string
  readonly resource: Resource<ReplicaSetLike>
  readonly selectorOf: (set: ReplicaSetLike) => Selector
}

function replicaSetLikeController(kind: ReplicaSetLikeKind): Controller {
  const { name, queueName, account } = kind
  return { name, queueName, account, setUp: context => setUp(kind, context) }
}

function setUp(kind: ReplicaSetLikeKind, context: ControllerContext): Reconcile {
  const { platform, recorder, informer, enqueue } = context
  const sets = informer(kind.resource)
  const allPods = informer(pods)
  const owned = controllerRefIndex(allPods)
  const orphans = orphanIndex(allPods)
  const siblings = controllerRefIndex(sets)
  // ReplicationControllers have no such metric.
  const deletionAgeRatio =
    kind.resource === replicaSets ? sortingDeletionAgeRatio(context.metrics) : undefined
  sets.addEventHandler(key => enqueue(key))
  enqueueForOwner(allPods, kind.resource, key => enqueue(key))
  onOrphan(allPods, orphan => {
    for (const set of sets.inNamespace(orphan.metadata.namespace ?? '')) {
      if (kind.selectorOf(set).matches(orphan.metadata.labels)) enqueue(keyOf(set))
    }
  })

  return async ({ key, client }) => {
    const set = sets.get(key)
    if (set === undefined) return undefined
    const { uid, namespace = '' } = set.metadata
    const selector = kind.selectorOf(set)
    const candidates = [...owned.get(uid), ...orphans.get(namespace)]
    const active = await claimObjects({
      client,
      selector,
      owner: set,
      ownerResource: kind.resource,
      resource: pods,
      candidates: candidates.filter(isPodActive),
    })
    const terminating = candidates.filter(pod => {
      const isOnItsWay = isBeingDeleted(pod) && !isPodTerminal(pod)
      return isOnItsWay && isControlledBy(pod, set) && selector.matches(pod.metadata.labels)
    })
    const plan = planReplicas({
      set,
      pods: active,
      related: () => relatedPods(set),
      nowMs: platform.clock.now(),
    })
    if (deletionAgeRatio !== undefined && plan.delete.length < active.length) {
      for (const ratio of ageRatios(plan.delete, active, platform.clock.now()))
        deletionAgeRatio.observe(ratio)
    }
    const failure = isBeingDeleted(set) ? undefined : await scale({ set, client, recorder }, plan)
    const nowMs = platform.clock.now()
    const status = planStatus({ set, active, terminating, failure, nowMs })
    if (status !== set.status) await client.updateStatus(kind.resource, { ...set, ...(status && { status }) })
    if (failure) throw failure.error
    const requeueAfterMs = nextAvailableMs(active, set.spec?.minReadySeconds ?? 0, nowMs)
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
  }

  /** Pods of all sets with the same controller, such as the other revisions of a Deployment. */
  function relatedPods(set: Stored<ReplicaSetLike>): readonly Pod[] {
    const owner = controllerOf(set)
    const related = owner === undefined ? [set] : siblings.get(owner.uid)
    return related.flatMap(each => owned.get(each.metadata.uid)).filter(isPodActive)
  }
}

function sortingDeletionAgeRatio(registry: MetricsRegistry): HistogramSeries {
  return registry
    .histogram({
      name: 'replicaset_controller_sorting_deletion_age_ratio',
      help: 'Age of a ready pod chosen for deletion, as a multiple of the age of the youngest ready pod.',
      buckets: exponentialBuckets(0.25, 2, 6),
      stability: 'ALPHA',
    })
    .with()
}

/** Ages of the ready pods among the deleted ones, as multiples of the age of the youngest ready pod. */
function ageRatios(deleted: readonly Pod[], active: readonly Pod[], nowMs: number): readonly number[] {
  const ageMs = ({ metadata }: Pod): number => nowMs - (parseTime(metadata.creationTimestamp ?? '') ?? nowMs)
  const youngestMs = Math.min(...active.filter(isPodReady).map(ageMs))
  return deleted.filter(isPodReady).map(pod => ageMs(pod) / Math.max(1, youngestMs))
}
