import { messageOf } from '#/base/message-of.ts'
import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { isControlledBy, type Named, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { DeploymentPlan, ReplicaSetChange } from './plan.ts'
import { replicasOf } from './revisions.ts'
import type { Creation } from './status.ts'
import { sameTemplate } from './template.ts'

export interface PerformWork {
  readonly deployment: Stored<Deployment>
  readonly client: Client
  readonly recorder: Pick<EventRecorder, 'record'>
}

export interface Performed {
  /** All ReplicaSets of the Deployment after the writes. */
  readonly replicaSets: readonly Stored<ReplicaSet>[]
  readonly creation: Creation | undefined
  /** Reason why the new ReplicaSet could not be created; the reconcile is retried. */
  readonly error: unknown
}

/** Performs the writes of a plan sequentially. Returns the resulting ReplicaSets. */
export async function performPlan(
  work: PerformWork,
  plan: DeploymentPlan,
  claimed: readonly Stored<ReplicaSet>[],
): Promise<Performed> {
  const made: Made = plan.create ? await create(work, plan.create) : {}
  const { creation, error } = made
  if (error !== undefined) return { replicaSets: claimed, creation, error }
  const changed = new Map<ReplicaSet, Stored<ReplicaSet>>()
  for (const change of plan.change) changed.set(change.before, await resize(work, change))
  for (const set of plan.remove) await remove(work, set)
  const left = claimed.filter(set => !plan.remove.includes(set)).map(set => changed.get(set) ?? set)
  return { replicaSets: made.replicaSet ? [...left, made.replicaSet] : left, creation, error }
}

interface Made {
  readonly creation?: Creation
  readonly replicaSet?: Stored<ReplicaSet>
  readonly error?: unknown
}

async function create(work: PerformWork, wanted: Named<ReplicaSet>): Promise<Made> {
  const name = wanted.metadata.name
  try {
    const replicaSet = await work.client.create(replicaSets, wanted)
    recordScaling(work, { name, from: 0, to: replicasOf(wanted) })
    return { creation: { outcome: 'created' }, replicaSet }
  } catch (error) {
    if (isNamespaceTerminating(error)) throw error
    if (isApiError(error, 'AlreadyExists')) return adoptExisting(work, wanted)
    const reason = messageOf(error)
    const message = `Failed to create new replica set "${name}": ${reason}`
    work.recorder.record(work.deployment, { type: 'Warning', reason: 'ReplicaSetCreateError', message })
    return { creation: { outcome: 'failed', message }, error }
  }
}

/** The name exists: either the same ReplicaSet, created by an interrupted reconcile, or a hash collision. */
async function adoptExisting({ deployment, client }: PerformWork, wanted: Named<ReplicaSet>): Promise<Made> {
  const { namespace, name } = wanted.metadata
  const replicaSet = await client.get(replicaSets, { namespace, name })
  const isOurs =
    isControlledBy(replicaSet, deployment) && sameTemplate(replicaSet.spec?.template, wanted.spec?.template)
  return isOurs ? { replicaSet } : { creation: { outcome: 'collided' } }
}

async function resize(work: PerformWork, { before, after }: ReplicaSetChange): Promise<Stored<ReplicaSet>> {
  const written = await work.client.update(replicaSets, after)
  recordScaling(work, { name: before.metadata.name, from: replicasOf(before), to: replicasOf(after) })
  return written
}

async function remove({ client }: PerformWork, { metadata }: Stored<ReplicaSet>): Promise<void> {
  const { namespace, name, uid } = metadata
  try {
    await client.delete(replicaSets, { namespace, name }, { preconditions: { uid } })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

interface Scaling {
  readonly name: string
  readonly from: number
  readonly to: number
}

function recordScaling({ deployment, recorder }: PerformWork, { name, from, to }: Scaling): void {
  if (from === to) return
  const message = `Scaled ${from < to ? 'up' : 'down'} replica set ${name} from ${from} to ${to}`
  recorder.record(deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message })
}
