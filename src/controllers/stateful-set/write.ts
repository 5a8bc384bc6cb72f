/** Writes to the pods and claims of a set, with events. */
import { isApiError, isNamespaceTerminating } from '#/api/errors.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { ClaimsPlan } from './claims.ts'
import { messageOf } from '#/base/message-of.ts'

export interface Writing {
  readonly set: Stored<StatefulSet>
  readonly client: Client
  readonly recorder: EventRecorder
}

/** Claims are created first, so that the pod finds them. */
export async function createPod(writing: Writing, pod: Pod, claims: ClaimsPlan): Promise<void> {
  await withEvents(writing, { verb: 'Create', pod }, async () => {
    await writeClaims(writing, pod, claims)
    await writing.client.create(pods, pod)
  })
}

export async function deletePod(writing: Writing, pod: Stored<Pod>): Promise<void> {
  await withEvents(writing, { verb: 'Delete', pod }, async () => {
    const { namespace, name, uid } = pod.metadata
    try {
      await writing.client.delete(pods, { namespace, name }, { preconditions: { uid } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  })
}

/** Writes a pod with its identity repaired. */
export async function updatePod(writing: Writing, pod: Pod, claims: ClaimsPlan): Promise<void> {
  await withEvents(writing, { verb: 'Update', pod }, async () => {
    await writeClaims(writing, pod, claims)
    await writing.client.update(pods, pod)
  })
}

/** Throws if a claim is still being deleted. */
export async function writeClaims(writing: Writing, pod: Pod | undefined, claims: ClaimsPlan): Promise<void> {
  const { set, client, recorder } = writing
  for (const name of claims.conflicting) {
    recorder.record(set, {
      type: 'Warning',
      reason: 'ConflictingController',
      message:
        `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, ` +
        'the retention policy is ignored for this claim',
    })
  }
  for (const claim of claims.create) {
    const about = `Claim ${claim.metadata.name} Pod ${pod?.metadata.name} in StatefulSet ${set.metadata.name}`
    try {
      await client.create(persistentVolumeClaims, claim)
      recorder.record(set, { type: 'Normal', reason: 'SuccessfulCreate', message: `Create ${about} success` })
    } catch (error) {
      const message = `Create ${about.replace(' Pod ', ' for Pod ')} failed error: ${messageOf(error)}`
      if (!isWithoutEvent(error)) recorder.record(set, { type: 'Warning', reason: 'FailedCreate', message })
      throw error
    }
  }
  for (const claim of claims.update) await client.update(persistentVolumeClaims, claim)
  const [terminating] = claims.terminating
  if (terminating !== undefined) throw new Error(`pvc ${terminating} is being deleted`)
}

async function withEvents(
  { set, recorder }: Writing,
  { verb, pod }: { readonly verb: 'Create' | 'Delete' | 'Update'; readonly pod: Pod },
  write: () => Promise<void>,
): Promise<void> {
  const about = `${verb} Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`
  try {
    await write()
    recorder.record(set, {
      type: 'Normal',
      reason: `Successful${verb}`,
      message: `${about} successful`,
    })
  } catch (error) {
    const message = `${about} failed error: ${messageOf(error)}`
    if (!isWithoutEvent(error)) recorder.record(set, { type: 'Warning', reason: `Failed${verb}`, message })
    throw error
  }
}

/** No event if the name is taken, which resolves over time, or if the namespace is terminating. */
function isWithoutEvent(error: unknown): boolean {
  return isApiError(error, 'AlreadyExists') || isNamespaceTerminating(error)
}
