/**
 * Deletes pods that no other component deletes: the oldest finished pods beyond a limit, pods of deleted
 * nodes, and terminating pods without a kubelet to stop them.
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-garbage-collection
 */
import { withCondition } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { formatTime } from '#/api/time.ts'
import type { Controller, ControllerContext, Reconcile, Work } from './controller.ts'
import { isCollected, isOutOfService, isStuck, planFinished } from './pod-garbage-collector/plan.ts'
import { isPodFinished, podsByNode } from './pods.ts'

export interface PodGarbageCollectorSettings {
  /** Number of finished pods to keep; 0 keeps all. */
  readonly finishedMax?: number
}

const finishedMaxUsual = 12_500

/** Debounce: pods that finish within this time are handled together. */
const gatherMs = 20_000

/** Time after which pods of a missing node are deleted, since a node may be recreated immediately. */
const quarantineMs = 40_000

/** Not keys of pods, which contain a slash. */
const finishedKey = 'finished'
const nodePrefix = 'node:'

export function podGarbageCollectorController(settings: PodGarbageCollectorSettings = {}): Controller {
  return {
    name: 'pod-garbage-collector-controller',
    account: 'pod-garbage-collector',
    setUp: context => setUp(context, settings),
  }
}

function setUp(context: ControllerContext, settings: PodGarbageCollectorSettings): Reconcile {
  const { finishedMax = finishedMaxUsual } = settings
  const { platform, informer, enqueue } = context
  const { clock } = platform
  const allPods = informer(pods)
  const allNodes = informer(nodes)
  const byNode = podsByNode(allPods)
  const finished = allPods.index('finished', pod => (isFinishedAndStays(pod) ? ['stays'] : []))
  /** Time since when a node that pods name is missing, by node name. */
  const missing = new Map<string, number>()
  let finishedCount = 0

  const miss = (name: string): void => {
    if (!missing.has(name)) missing.set(name, clock.monotonicMs())
    enqueue(`${nodePrefix}${name}`, quarantineMs)
  }
  allPods.addEventHandler((key, { oldObject, newObject }) => {
    finishedCount +=
      Number(newObject ? isFinishedAndStays(newObject) : 0) -
      Number(oldObject ? isFinishedAndStays(oldObject) : 0)
    if (finishedMax > 0 && finishedCount > finishedMax) enqueue(finishedKey, gatherMs)
    if (newObject === undefined) return
    const node = newObject.spec?.nodeName ?? ''
    if (node !== '' && node !== oldObject?.spec?.nodeName && allNodes.get(node) === undefined) miss(node)
    if (isStuck(newObject, allNodes.get(node))) enqueue(key)
  })
  allNodes.addEventHandler((name, { newObject }) => {
    if (newObject === undefined) miss(name)
    else missing.delete(name)
    if (newObject === undefined || !isOutOfService(newObject)) return
    byNode.keys(name).forEach(key => enqueue(key))
  })

  return async ({ key, client }) => {
    if (key === finishedKey) {
      await Promise.all(planFinished(finished.get('stays'), finishedMax).map(pod => collect(pod, client)))
      return undefined
    }
    if (key.startsWith(nodePrefix)) return emptyNode(key.slice(nodePrefix.length), client)
    const pod = allPods.get(key)
    if (pod && isStuck(pod, allNodes.get(pod.spec?.nodeName ?? ''))) await collect(pod, client)
    return undefined
  }

  async function emptyNode(name: string, client: Work['client']): ReturnType<Reconcile> {
    const sinceMs = missing.get(name)
    if (sinceMs === undefined) return undefined
    const leftMs = sinceMs + quarantineMs - clock.monotonicMs()
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    const left = byNode.get(name).filter(pod => !isCollected(pod))
    const isBack = left.length > 0 && (await client.find(nodes, { name })) !== undefined
    if (!isBack) {
      await Promise.all(
        left.map(pod => {
          return collect(pod, client, {
            type: 'DisruptionTarget',
            status: 'True',
            reason: 'DeletionByPodGC',
            message: 'PodGC: node no longer exists',
            lastTransitionTime: formatTime(clock.now()),
          })
        }),
      )
    }
    missing.delete(name)
    return undefined
  }
}

function isFinishedAndStays(pod: Pod): boolean {
  return isPodFinished(pod) && !isBeingDeleted(pod)
}

/**
 * Sets the phase of an unfinished pod to Failed before deleting it, so that its controller can observe the
 * failure.
 */
async function collect(pod: Pod, client: Work['client'], condition?: PodCondition): Promise<void> {
  const { namespace, name = '', uid = '', generation } = pod.metadata ?? {}
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  try {
    if (!isPodFinished(pod)) {
      const conditions = condition && withCondition(pod.status?.conditions, { ...condition, ...observed })
      const status = { phase: 'Failed', ...observed, ...(conditions && { conditions }) }
      const at = { namespace, name, subresource: 'status' }
      await client.patch(pods, at, { type: 'strategic', patch: { metadata: { uid }, status } })
    }
    await client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
  } catch (error) {
    // Deleted or replaced meanwhile.
    if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error
  }
}
