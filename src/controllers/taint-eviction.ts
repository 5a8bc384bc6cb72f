/**
 * Evicts pods from nodes with NoExecute taints that they do not tolerate, immediately or after
 * `tolerationSeconds`.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
 */
import { evictionMetrics } from './shared/eviction-metrics.ts'
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod, Taint, Toleration } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, keyOf, parseKey, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { tolerates } from '#/api/core/taints.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { podsByNode } from './pods.ts'

export const taintEvictionController: Controller = {
  name: 'taint-eviction-controller',
  queueName: 'noexec_taint_pod',
  account: 'node-controller',
  component: 'taint-eviction-controller',
  workers: 8,
  setUp,
}

/** A pod waiting for its eviction, and since when. */
interface ScheduledEviction {
  readonly uid: string
  readonly sinceMs: number
}

function setUp({ platform, recorder, informer, enqueue, metrics }: ControllerContext): Reconcile {
  const evictions = evictionMetrics(metrics, 'taint_eviction_controller')
  const { clock } = platform
  const allNodes = informer(nodes)
  const allPods = informer(pods)
  const byNode = podsByNode(allPods)
  /** Pods that tolerate their node's taints for a limited time, by key. */
  const stays = new Map<string, ScheduledEviction>()
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    if (equalJson(oldObject?.spec?.taints, newObject?.spec?.taints)) return
    for (const key of byNode.keys(name)) enqueue(key)
  })
  allPods.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject === undefined) stays.delete(key)
    else if (
      isBound(newObject) &&
      !(oldObject !== undefined && isBound(oldObject) && isSameToleration(oldObject, newObject))
    )
      enqueue(key)
  })

  return async ({ key, client }) => {
    const pod = allPods.get(key)
    if (pod === undefined || !isBound(pod) || isBeingDeleted(pod)) return undefined
    const taints = (allNodes.get(pod.spec?.nodeName ?? '')?.spec?.taints ?? []).filter(isNoExecute)
    const staysMs = minTolerationMs(taints, pod.spec?.tolerations ?? [])
    const uid = pod.metadata.uid
    const stay = stays.get(key)
    if (staysMs === Infinity) {
      if (stay !== undefined && stays.delete(key) && taints.length === 0)
        record(pod, `Cancelling deletion of Pod ${key}`)
      return undefined
    }
    const sinceMs = stay?.uid === uid ? stay.sinceMs : clock.monotonicMs()
    const leftMs = sinceMs + staysMs - clock.monotonicMs()
    if (leftMs > 0) {
      stays.set(key, { uid, sinceMs })
      return { requeueAfterMs: leftMs }
    }
    stays.delete(key)
    record(pod, `Marking for deletion Pod ${keyOf(pod)}`)
    await evict(pod, client)
    evictions.podDeletions.add()
    evictions.podDeletionSeconds.observe((clock.monotonicMs() - sinceMs - staysMs) / 1_000)
    return undefined
  }

  function record(pod: Pod, message: string): void {
    recorder.record(pod, { type: 'Normal', reason: 'TaintManagerEviction', message })
  }

  async function evict(pod: Stored<Pod>, client: ReconcileRequest['client']): Promise<void> {
    const conditions = withCondition(pod.status?.conditions, {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: formatTime(clock.now()),
    })
    try {
      if (conditions !== pod.status?.conditions) {
        await client.updateStatus(pods, { ...pod, status: { ...pod.status, conditions } })
      }
      await client.delete(pods, parseKey(keyOf(pod)), { preconditions: { uid: pod.metadata.uid } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isBound({ spec }: Pod): boolean {
  return spec?.nodeName !== undefined && spec.nodeName !== ''
}

function isSameToleration(oldObject: Pod, newObject: Pod): boolean {
  return (
    oldObject.metadata.uid === newObject.metadata.uid &&
    equalJson(oldObject.spec?.tolerations, newObject.spec?.tolerations)
  )
}

function isNoExecute({ effect }: { readonly effect: string }): boolean {
  return effect === 'NoExecute'
}

/**
 * Time for which a pod tolerates these taints: Infinity without taints, zero if one is not tolerated,
 * otherwise the shortest `tolerationSeconds` of the matching tolerations.
 */
export function minTolerationMs(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const used = taints.map(taint => tolerations.filter(toleration => tolerates(toleration, taint)))
  if (used.some(each => each.length === 0)) return 0
  const seconds = used
    .flat()
    .flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds]))
  return Math.max(0, Math.min(Infinity, ...seconds.map(Number))) * 1_000
}
