/**
 * Evicts pods from nodes with NoExecute taints that they do not tolerate, immediately or after
 * `tolerationSeconds`.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
 */
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { isBeingDeleted, keyOf, parseKey } from '#/api/metadata.ts'
import { formatTime } from '#/api/time.ts'
import type { Controller, ControllerContext, Reconcile, Work } from './controller.ts'
import { tolerationMs } from './taint-eviction/toleration-ms.ts'
import { podsByNode } from './pods.ts'

export const taintEvictionController: Controller = {
  name: 'taint-eviction-controller',
  account: 'node-controller',
  component: 'taint-eviction-controller',
  workers: 8,
  setUp,
}

/** A pod waiting for its eviction, and since when. */
interface Stay {
  readonly uid: string
  readonly sinceMs: number
}

function setUp({ platform, recorder, informer, enqueue }: ControllerContext): Reconcile {
  const { clock } = platform
  const allNodes = informer(nodes)
  const allPods = informer(pods)
  const byNode = podsByNode(allPods)
  /** Pods that tolerate their node's taints for a limited time, by key. */
  const stays = new Map<string, Stay>()
  allNodes.addEventHandler((name, { oldObject, newObject }) => {
    if (equalJson(oldObject?.spec?.taints, newObject?.spec?.taints)) return
    for (const key of byNode.keys(name)) enqueue(key)
  })
  allPods.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject === undefined) stays.delete(key)
    else if (
      isPlaced(newObject) &&
      !(oldObject !== undefined && isPlaced(oldObject) && isSameStay(oldObject, newObject))
    )
      enqueue(key)
  })

  return async ({ key, client }) => {
    const pod = allPods.get(key)
    if (pod === undefined || !isPlaced(pod) || isBeingDeleted(pod)) return undefined
    const taints = (allNodes.get(pod.spec?.nodeName ?? '')?.spec?.taints ?? []).filter(isDriving)
    const staysMs = tolerationMs(taints, pod.spec?.tolerations ?? [])
    const uid = pod.metadata?.uid ?? ''
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
    return evict(pod, client)
  }

  function record(pod: Pod, message: string): void {
    recorder.record(pod, { type: 'Normal', reason: 'TaintManagerEviction', message })
  }

  async function evict(pod: Pod, client: Work['client']): Promise<void> {
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
      await client.delete(pods, parseKey(keyOf(pod)), { preconditions: { uid: pod.metadata?.uid ?? '' } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isPlaced({ spec }: Pod): boolean {
  return spec?.nodeName !== undefined && spec.nodeName !== ''
}

function isSameStay(before: Pod, after: Pod): boolean {
  return (
    before.metadata?.uid === after.metadata?.uid &&
    equalJson(before.spec?.tolerations, after.spec?.tolerations)
  )
}

function isDriving({ effect }: { readonly effect: string }): boolean {
  return effect === 'NoExecute'
}
