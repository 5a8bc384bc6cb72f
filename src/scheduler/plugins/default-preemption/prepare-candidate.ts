import { isStale } from '#/api/errors.ts'
import type { Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { PreemptionWork } from '../../framework.ts'
import type { PodInfo } from '../../pod-info.ts'

export interface PreemptionTask {
  /** The preemptor. */
  readonly pod: PodInfo
  readonly node: string
  readonly victims: readonly PodInfo[]
  /** Pods of lower priority nominated for the node, which lose their nomination. */
  readonly lowerPriorityNominatedPods: readonly PodInfo[]
  readonly nowMs: number
}

/** True if the pod is terminating because of preemption. */
export function isPreempted(pod: Pod): boolean {
  const condition = targetOf(pod)
  return isBeingDeleted(pod) && condition?.status === 'True' && condition.reason === preemption
}

const preemption = 'PreemptionByScheduler'

/** Evicts all victims, even if some evictions fail; then it throws. */
export async function prepareCandidate(task: PreemptionTask, work: PreemptionWork): Promise<void> {
  const told = await Promise.allSettled([
    ...task.lowerPriorityNominatedPods.map(pod => clearNominatedNode(pod, work)),
    // Terminating victims need no eviction.
    ...task.victims.filter(({ pod }) => !isBeingDeleted(pod)).map(victim => preemptPod(victim, task, work)),
  ])
  const errors = told.flatMap(each => (each.status === 'rejected' ? [each.reason as unknown] : []))
  if (errors.length > 0) throw new AggregateError(errors, `cannot preempt victims for pod ${task.pod.key}`)
}

async function clearNominatedNode({ pod, uid }: PodInfo, { client, signal }: PreemptionWork): Promise<void> {
  const patch = { metadata: { uid }, status: { nominatedNodeName: null } }
  await unlessGone(
    client.patch(pods, { ...at(pod), subresource: 'status' }, { type: 'merge', patch }, { signal }),
  )
}

async function preemptPod(
  victim: PodInfo,
  { pod, node, nowMs }: PreemptionTask,
  work: PreemptionWork,
): Promise<void> {
  const { client, signal, record } = work
  const condition = conditionOf(victim.pod, pod.pod.spec?.schedulerName ?? 'default-scheduler', nowMs)
  if (condition !== undefined) {
    const patch = { metadata: { uid: victim.uid }, status: { conditions: [condition] } }
    const address = { ...at(victim.pod), subresource: 'status' }
    const isThere = await unlessGone(client.patch(pods, address, { type: 'strategic', patch }, { signal }))
    if (!isThere) return
  }
  const preconditions = { uid: victim.uid }
  if (!(await unlessGone(client.delete(pods, at(victim.pod), { preconditions, signal })))) return
  const message = `Preempted by pod ${pod.uid} on node ${node}`
  record(victim.pod, { type: 'Normal', reason: 'Preempted', message })
}

/** The DisruptionTarget condition of the victim; undefined if it is already set. */
function conditionOf(
  { metadata, status }: Pod,
  schedulerName: string,
  nowMs: number,
): PodCondition | undefined {
  const said = status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  const message = `${schedulerName}: preempting to accommodate a higher priority pod`
  if (said?.status === 'True' && said.reason === preemption && said.message === message) return undefined
  const isSince = said?.status === 'True' && said.lastTransitionTime !== undefined
  return {
    type: 'DisruptionTarget',
    status: 'True',
    reason: preemption,
    message,
    lastTransitionTime: isSince ? said.lastTransitionTime : formatTime(nowMs),
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
  }
}

function targetOf({ status }: Pod): PodCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
}

function at({ metadata }: Stored<Pod>): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata.namespace, name: metadata.name }
}

/** False if the pod is gone or has been replaced. */
async function unlessGone(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    return true
  } catch (error) {
    if (isStale(error)) return false
    throw error
  }
}
