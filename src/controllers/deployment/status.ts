/** Deployment status: replica counts, and the Available, Progressing and ReplicaFailure conditions. */
import { conditionOf, withoutCondition } from '#/api/conditions.ts'
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from '#/api/generated/apps/v1.ts'
import { int32Max } from '#/api/text/int64.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { rolloutLimitsOf } from './rollout-limits.ts'
import { replicasOf } from './revisions.ts'
import { sum } from './rolling-update.ts'

export interface StatusWorld {
  readonly deployment: Deployment
  /** All ReplicaSets of the Deployment, after the reconcile's writes. */
  readonly replicaSets: readonly ReplicaSet[]
  /** The ReplicaSet with the current template. */
  readonly newReplicaSet: ReplicaSet | undefined
  /** Outcome of creating the new ReplicaSet; undefined if it was not created now. */
  readonly creation?: Creation | undefined
  /** True if a rollout is in progress, so that progress is expected. */
  readonly isRollout: boolean
  readonly nowMs: number
}

export type Creation =
  | { readonly outcome: 'created' }
  /** The name is taken by another ReplicaSet (hash collision). */
  | { readonly outcome: 'collided' }
  | { readonly outcome: 'failed'; readonly message: string }

type Conditions = readonly DeploymentCondition[]

/** The desired status; identical to the current one if nothing changes. */
export function planStatus(world: StatusWorld): DeploymentStatus | undefined {
  const before = world.deployment.status ?? {}
  const status = makeStatus(world, before)
  return equalJson(before, status) ? world.deployment.status : status
}

function makeStatus(world: StatusWorld, before: DeploymentStatus): DeploymentStatus {
  const { deployment, creation } = world
  const counts = countReplicas(world)
  const collisionCount = (before.collisionCount ?? 0) + (creation?.outcome === 'collided' ? 1 : 0)
  const noted = withNote(world, before.conditions ?? [])
  const conditions = withProgress(world, {
    conditions: withAvailability(world, noted, counts),
    before: noted,
    counts,
  })
  const { generation } = deployment.metadata
  return {
    ...(generation && { observedGeneration: generation }),
    ...counts,
    ...(collisionCount > 0 && { collisionCount }),
    ...(conditions.length > 0 && { conditions }),
  }
}

/** Omits zeros, except for `terminatingReplicas`, where zero means that terminating pods are counted. */
export function countReplicas({
  replicaSets,
  newReplicaSet,
}: Pick<StatusWorld, 'replicaSets' | 'newReplicaSet'>): DeploymentStatus {
  const replicas = sum(replicaSets, set => set.status?.replicas ?? 0)
  const readyReplicas = sum(replicaSets, set => set.status?.readyReplicas ?? 0)
  const availableReplicas = sum(replicaSets, set => set.status?.availableReplicas ?? 0)
  const unavailableReplicas = Math.max(0, sum(replicaSets, replicasOf) - availableReplicas)
  const updatedReplicas = newReplicaSet?.status?.replicas ?? 0
  const terminating = terminatingReplicas(replicaSets)
  return {
    ...(replicas && { replicas }),
    ...(updatedReplicas && { updatedReplicas }),
    ...(readyReplicas && { readyReplicas }),
    ...(availableReplicas && { availableReplicas }),
    ...(unavailableReplicas && { unavailableReplicas }),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
  }
}

/** Undefined if a ReplicaSet does not report `terminatingReplicas`. */
function terminatingReplicas(replicaSets: readonly ReplicaSet[]): number | undefined {
  const counted = replicaSets.filter(({ status }) => status?.observedGeneration !== undefined)
  if (counted.some(({ status }) => status?.terminatingReplicas === undefined)) return undefined
  return sum(replicaSets, set => set.status?.terminatingReplicas ?? 0)
}

/** True if all desired replicas are updated and available, and no others exist. */
export function isComplete(deployment: Deployment, counts: DeploymentStatus): boolean {
  const { replicas } = rolloutLimitsOf(deployment)
  const { updatedReplicas = 0, replicas: all = 0, availableReplicas = 0 } = counts
  return updatedReplicas === replicas && all === replicas && availableReplicas === replicas
}

/** False if `progressDeadlineSeconds` is unset or the maximum int32, which means no deadline. */
function hasDeadline({ spec }: Deployment): boolean {
  return spec?.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== int32Max
}

/** Updates the Progressing condition after an action, which restarts the progress deadline. */
function withNote(world: StatusWorld, conditions: Conditions): Conditions {
  if (!hasDeadline(world.deployment)) return conditions
  const paused = withPause(world, conditions)
  const note = noteOf(world, conditionOf(paused, 'Progressing') !== undefined)
  return note === undefined ? paused : withCondition(paused, conditionAt(world.nowMs, note))
}

type Note = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>

function noteOf({ creation, newReplicaSet }: StatusWorld, isKnown: boolean): Note | undefined {
  const type = 'Progressing'
  const name = newReplicaSet?.metadata.name
  if (creation?.outcome === 'failed')
    return { type, status: 'False', reason: 'ReplicaSetCreateError', message: creation.message }
  if (creation?.outcome === 'created') {
    const message = `Created new replica set "${name}"`
    return { type, status: 'True', reason: 'NewReplicaSetCreated', message }
  }
  if (isKnown || newReplicaSet === undefined) return undefined
  return { type, status: 'True', reason: 'FoundNewReplicaSet', message: `Found new replica set "${name}"` }
}

/** No progress is expected of a paused Deployment; resuming restarts the progress deadline. */
function withPause({ deployment, nowMs }: StatusWorld, conditions: Conditions): Conditions {
  const reason = conditionOf(conditions, 'Progressing')?.reason
  const isPaused = deployment.spec?.paused === true
  if (reason === 'ProgressDeadlineExceeded' || isPaused === (reason === 'DeploymentPaused')) return conditions
  const type = 'Progressing'
  const note = isPaused
    ? { type, status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { type, status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' }
  return withCondition(conditions, conditionAt(nowMs, note))
}

function withAvailability(world: StatusWorld, conditions: Conditions, counts: DeploymentStatus): Conditions {
  const isEnough = (counts.availableReplicas ?? 0) >= rolloutLimitsOf(world.deployment).minAvailable
  const note = isEnough
    ? { status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' }
    : {
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }
  return withCondition(conditions, conditionAt(world.nowMs, { type: 'Available', ...note }))
}

interface Progress {
  readonly conditions: Conditions
  /** The conditions before availability was updated. */
  readonly before: Conditions
  readonly counts: DeploymentStatus
}

function withProgress(world: StatusWorld, progress: Progress): Conditions {
  const { conditions } = progress
  const { deployment, isRollout, creation } = world
  if (!isRollout || (creation && creation.outcome !== 'created')) return conditions
  const watched = hasDeadline(deployment)
    ? withEstimate(world, progress)
    : (withoutCondition(conditions, 'Progressing') ?? [])
  const failure = failureOf(world)
  if (failure) return withCondition(watched, failure)
  return withoutCondition(watched, 'ReplicaFailure') ?? []
}

function withEstimate(world: StatusWorld, { conditions, before: all, counts }: Progress): Conditions {
  const { deployment, nowMs } = world
  const before = conditionOf(all, 'Progressing')
  const { replicas = 0, updatedReplicas = 0 } = counts
  // The rollout is complete: later pod changes are not progress.
  if (replicas === updatedReplicas && before?.reason === 'NewReplicaSetAvailable') return conditions
  if (isComplete(deployment, counts)) {
    return withCondition(
      conditions,
      progressing(world, 'NewReplicaSetAvailable', 'has successfully progressed.'),
    )
  }
  if (hasProgressed(deployment.status ?? {}, counts)) {
    const noticed = progressing(world, 'ReplicaSetUpdated', 'is progressing.')
    const since = before?.status === 'True' ? before.lastTransitionTime : noticed.lastTransitionTime
    const others = conditions.filter(({ type }) => type !== 'Progressing')
    return [...others, { ...noticed, ...(since && { lastTransitionTime: since }) }]
  }
  const leftMs = progressLeftMs(deployment, conditions, nowMs)
  if (leftMs === undefined || leftMs >= 0) return conditions
  const exceeded = progressing(world, 'ProgressDeadlineExceeded', 'has timed out progressing.')
  return withCondition(conditions, { ...exceeded, status: 'False' })
}

function progressing(
  { deployment, newReplicaSet, nowMs }: StatusWorld,
  reason: string,
  what: string,
): DeploymentCondition {
  const who = newReplicaSet
    ? `ReplicaSet "${newReplicaSet.metadata.name}"`
    : `Deployment "${deployment.metadata.name}"`
  return conditionAt(nowMs, { type: 'Progressing', status: 'True', reason, message: `${who} ${what}` })
}

/** More updated, fewer old, or more ready or available replicas. */
function hasProgressed(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/**
 * Remaining time until the progress deadline; undefined if no progress is expected or the deadline was
 * already exceeded.
 */
function progressLeftMs({ spec }: Deployment, conditions: Conditions, nowMs: number): number | undefined {
  const condition = conditionOf(conditions, 'Progressing')
  if (condition === undefined || condition.reason === 'NewReplicaSetAvailable') return undefined
  if (condition.reason === 'ProgressDeadlineExceeded') return undefined
  const sinceMs = parseTime(condition.lastUpdateTime ?? '') ?? 0
  return sinceMs + (spec?.progressDeadlineSeconds ?? 0) * 1_000 - nowMs
}

/** Delay until the progress deadline must be checked, since no event occurs at that time. */
export function nextProgressCheckMs(
  deployment: Deployment,
  status: DeploymentStatus | undefined,
  nowMs: number,
): number | undefined {
  if (!hasDeadline(deployment) || deployment.spec?.paused || isComplete(deployment, status ?? {}))
    return undefined
  const leftMs = progressLeftMs(deployment, status?.conditions ?? [], nowMs)
  return leftMs === undefined ? undefined : Math.max(0, leftMs) + 1
}

/** The ReplicaFailure condition of a ReplicaSet, the new one's first. */
function failureOf({ replicaSets, newReplicaSet }: StatusWorld): DeploymentCondition | undefined {
  const sets = newReplicaSet ? [newReplicaSet, ...replicaSets] : replicaSets
  for (const { status } of sets) {
    const failure = conditionOf(status?.conditions, 'ReplicaFailure')
    if (failure === undefined) continue
    const { lastTransitionTime } = failure
    return { ...failure, ...(lastTransitionTime && { lastUpdateTime: lastTransitionTime }) }
  }
  return undefined
}

function conditionAt(nowMs: number, note: Note): DeploymentCondition {
  const now = formatTime(nowMs)
  return { ...note, lastUpdateTime: now, lastTransitionTime: now }
}

/** Sets a condition. A changed message alone is not an update, since it may differ on every attempt. */
function withCondition(conditions: Conditions, condition: DeploymentCondition): Conditions {
  const before = conditionOf(conditions, condition.type)
  if (before?.status === condition.status && before.reason === condition.reason) return conditions
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined
  const others = conditions.filter(({ type }) => type !== condition.type)
  return [...others, { ...condition, ...(since && { lastTransitionTime: since }) }]
}
