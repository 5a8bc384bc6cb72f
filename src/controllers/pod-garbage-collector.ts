/**
 * Deletes pods that no other component deletes: the oldest finished pods beyond a limit, pods of deleted
 * nodes, and terminating pods without a kubelet to stop them.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection
 */
import type { MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import { withCondition, isTrue } from '#/api/conditions.ts'
import { isStale } from '#/api/errors.ts'
import type { Pod, PodCondition, Node } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { isPodTerminal, podsByNode } from './pods.ts'

export interface PodGarbageCollectorSettings {
  /** Number of finished pods to keep; 0 keeps all. */
  readonly terminatedPodThreshold?: number
}

const terminatedPodThresholdUsual = 12_500

/** Debounce: pods that finish within this time are handled together. */
const gcCheckPeriodMs = 20_000

/** Time after which pods of a missing node are deleted, since a node may be recreated immediately. */
const quarantineMs = 40_000

/** Not keys of pods, which contain a slash. */
const terminatedKey = 'finished'
const nodePrefix = 'node:'

export function podGarbageCollectorController(settings: PodGarbageCollectorSettings = {}): Controller {
  return {
    name: 'pod-garbage-collector-controller',
    queueName: 'orphaned_pods_nodes',
    account: 'pod-garbage-collector',
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: PodGarbageCollectorSettings): Reconcile {
  const { terminatedPodThreshold: finishedMax = terminatedPodThresholdUsual } = settings
  const { platform, informer, enqueue } = context
  const { clock } = platform
  const allPods = informer(pods)
  const allNodes = informer(nodes)
  const byNode = podsByNode(allPods)
  const finished = allPods.index('finished', pod => (isTerminated(pod) ? ['stays'] : []))
  /** Time since when a node that pods name is missing, by node name. */
  const missing = new Map<string, number>()
  let terminatedCount = 0
  const measured = measuredDeletion(context.metrics)

  const miss = (name: string): void => {
    missing.getOrInsert(name, clock.monotonicMs())
    enqueue(`${nodePrefix}${name}`, quarantineMs)
  }
  allPods.addEventHandler((key, { oldObject, newObject }) => {
    terminatedCount +=
      Number(newObject ? isTerminated(newObject) : 0) - Number(oldObject ? isTerminated(oldObject) : 0)
    if (finishedMax > 0 && terminatedCount > finishedMax) enqueue(terminatedKey, gcCheckPeriodMs)
    if (newObject === undefined) return
    const node = newObject.spec?.nodeName ?? ''
    if (node !== '' && node !== oldObject?.spec?.nodeName && allNodes.get(node) === undefined) miss(node)
    if (isTerminatingWithoutKubelet(newObject, allNodes.get(node))) enqueue(key)
  })
  allNodes.addEventHandler((name, { newObject }) => {
    if (newObject === undefined) miss(name)
    else missing.delete(name)
    if (newObject === undefined || !isOutOfService(newObject)) return
    byNode.keys(name).forEach(key => enqueue(key))
  })

  return async ({ key, client }) => {
    if (key === terminatedKey) {
      await Promise.all(
        planTerminatedPods(finished.get('stays'), finishedMax).map(pod =>
          measured(pod, 'terminated', collect(pod, client)),
        ),
      )
      return undefined
    }
    if (key.startsWith(nodePrefix)) return emptyNode(key.slice(nodePrefix.length), client)
    const pod = allPods.get(key)
    if (pod && isTerminatingWithoutKubelet(pod, allNodes.get(pod.spec?.nodeName ?? '')))
      await measured(pod, pod.spec?.nodeName ? 'out-of-service' : 'unscheduled', collect(pod, client))
    return undefined
  }

  async function emptyNode(name: string, client: ReconcileRequest['client']): ReturnType<Reconcile> {
    const sinceMs = missing.get(name)
    if (sinceMs === undefined) return undefined
    const leftMs = sinceMs + quarantineMs - clock.monotonicMs()
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    const left = byNode.get(name).filter(pod => !isWaitingForFinalizers(pod))
    const isBack = left.length > 0 && (await client.find(nodes, { name })) !== undefined
    if (!isBack) {
      await Promise.all(
        left.map(pod => {
          return measured(pod, 'orphaned', collect(pod, client, nodeIsGone(clock.now())))
        }),
      )
    }
    missing.delete(name)
    return undefined
  }
}

function nodeIsGone(nowMs: number): PodCondition {
  return {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'DeletionByPodGC',
    message: 'PodGC: node no longer exists',
    lastTransitionTime: formatTime(nowMs),
  }
}

type DeletionReason = 'terminated' | 'out-of-service' | 'orphaned' | 'unscheduled'

/** Counts deletions and their failures. */
function measuredDeletion(
  registry: MetricsRegistry,
): (pod: Pod, reason: DeletionReason, deleting: Promise<void>) => Promise<void> {
  const labels = ['namespace', 'reason']
  const stability = 'ALPHA'
  const counter = (name: string, help: string): ScalarMetric =>
    registry.counter({ name: `pod_gc_collector_${name}`, help, labels, stability })
  const deleted = counter('force_delete_pods_total', 'Pods that were force deleted.')
  const failed = counter('force_delete_pod_errors_total', 'Failed deletions of pods.')
  return async ({ metadata }, reason, deleting) => {
    const { namespace = '' } = metadata
    try {
      await deleting
      deleted.with(namespace, reason).add()
    } catch (error) {
      failed.with(namespace, reason).add()
      throw error
    }
  }
}

function isTerminated(pod: Pod): boolean {
  return isPodTerminal(pod) && !isBeingDeleted(pod)
}

/**
 * Sets the phase of an unfinished pod to Failed before deleting it, so that its controller can observe the
 * failure.
 */
async function collect(
  pod: Stored<Pod>,
  client: ReconcileRequest['client'],
  condition?: PodCondition,
): Promise<void> {
  const { namespace, name, uid, generation } = pod.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  try {
    if (!isPodTerminal(pod)) {
      const conditions = condition && withCondition(pod.status?.conditions, { ...condition, ...observed })
      const status = { phase: 'Failed', ...observed, ...(conditions && { conditions }) }
      const at = { namespace, name, subresource: 'status' }
      await client.patch(pods, at, { type: 'strategic', patch: { metadata: { uid }, status } })
    }
    await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
  } catch (error) {
    // Deleted or replaced meanwhile.
    if (!isStale(error)) throw error
  }
}

/** Finished pods beyond the limit: evicted ones first, then the oldest. */
export function planTerminatedPods(
  finished: readonly Stored<Pod>[],
  finishedMax: number,
): readonly Stored<Pod>[] {
  if (finished.length <= finishedMax) return []
  return finished.toSorted(byAge).slice(0, finished.length - finishedMax)
}

/**
 * True for a terminating pod that is unscheduled or on an out-of-service node: no kubelet will complete its
 * deletion.
 */
export function isTerminatingWithoutKubelet(pod: Pod, node: Node | undefined): boolean {
  if (!isBeingDeleted(pod) || isWaitingForFinalizers(pod)) return false
  return !pod.spec?.nodeName || (node !== undefined && isOutOfService(node))
}

/** True if the node is not ready and has the out-of-service taint. */
function isOutOfService({ spec, status }: Node): boolean {
  const isTainted = spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/out-of-service') ?? false
  return isTainted && !isTrue(status?.conditions, 'Ready')
}

/** True if nothing is left to do: only finalizers keep the pod. */
function isWaitingForFinalizers(pod: Pod): boolean {
  return isPodTerminal(pod) && isBeingDeleted(pod) && Number(pod.metadata.deletionGracePeriodSeconds) === 0
}

function byAge(left: Pod, right: Pod): number {
  const isEvicted = ({ status }: Pod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted'
  if (isEvicted(left) !== isEvicted(right)) return isEvicted(left) ? -1 : 1
  const age = ({ metadata }: Pod): string => `${metadata.creationTimestamp} ${metadata.name}`
  return age(left) < age(right) ? -1 : 1
}
