import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventContent, EventRecorder } from '#/client/event-recorder.ts'
import { podFromTemplate } from '../pods.ts'
import { slowStartBatch } from '../shared/slow-start-batch.ts'
import type { ReplicasPlan } from './plan.ts'
import type { ReplicaSetLike } from './replica-set-like.ts'
import type { ReplicaFailure } from './status.ts'
import { messageOf } from '#/base/message-of.ts'

export interface ScaleWork {
  readonly set: Stored<ReplicaSetLike>
  readonly client: Client
  readonly recorder: Pick<EventRecorder, 'record'>
}

/** Creates or deletes pods and records an event for each. */
export async function scale(work: ScaleWork, plan: ReplicasPlan): Promise<ReplicaFailure | undefined> {
  if (plan.create > 0) return createPods(work, plan.create)
  if (plan.delete.length > 0) return removePods(work, plan.delete)
  return undefined
}

async function createPods(
  { set, client, recorder }: ScaleWork,
  count: number,
): Promise<ReplicaFailure | undefined> {
  const template = set.spec?.template
  if (template === undefined) return undefined
  const pod = podFromTemplate(template, set)
  const { error } = await slowStartBatch(count, async () => {
    try {
      const made = await client.create(pods, pod)
      recorder.record(set, normal('SuccessfulCreate', `Created pod: ${made.metadata.name}`))
    } catch (cause) {
      // Events cannot be created in a terminating namespace.
      if (!isNamespaceTerminating(cause))
        recorder.record(set, warning('FailedCreate', `Error creating: ${messageOf(cause)}`))
      throw cause
    }
  })
  if (error === undefined || isNamespaceTerminating(error)) return undefined
  return { reason: 'FailedCreate', message: messageOf(error), error }
}

async function removePods(
  work: ScaleWork,
  excess: readonly Stored<Pod>[],
): Promise<ReplicaFailure | undefined> {
  const results = await Promise.allSettled(excess.map(pod => removePod(work, pod)))
  const failed = results.find(result => result.status === 'rejected')
  if (failed === undefined) return undefined
  const message = `unable to delete pods: ${messageOf(failed.reason)}`
  return { reason: 'FailedDelete', message, error: failed.reason }
}

async function removePod({ set, client, recorder }: ScaleWork, { metadata }: Stored<Pod>): Promise<void> {
  const { namespace, name, uid } = metadata
  try {
    await client.delete(pods, { namespace, name }, { preconditions: { uid } })
    recorder.record(set, normal('SuccessfulDelete', `Deleted pod: ${name}`))
  } catch (cause) {
    if (isApiError(cause, 'NotFound')) return
    recorder.record(set, warning('FailedDelete', `Error deleting: ${messageOf(cause)}`))
    throw cause
  }
}

function normal(reason: string, message: string): EventContent {
  return { type: 'Normal', reason, message }
}

function warning(reason: string, message: string): EventContent {
  return { type: 'Warning', reason, message }
}
