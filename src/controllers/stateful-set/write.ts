/** Writes to the pods and claims of a set, with events. */
import { messageOf } from '#/base/message-of.ts'
import { isApiError, isNamespaceGoing } from '#/api/errors.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { ClaimsPlan } from './claims.ts'

export interface Writing {
  readonly set: StatefulSet
  readonly client: Client
  readonly recorder: EventRecorder
}

/** Claims are created first, so that the pod finds them. */
export async function createMember(writing: Writing, pod: Pod, claims: ClaimsPlan): Promise<void> {
  await told(writing, 'create', pod, async () => {
    await writeClaims(writing, pod, claims)
    await writing.client.create(pods, pod)
  })
}

export async function deleteMember(writing: Writing, pod: Pod): Promise<void> {
  await told(writing, 'delete', pod, async () => {
    const { namespace, name = '', uid = '' } = pod.metadata ?? {}
    try {
      await writing.client.delete(pods, { namespace, name }, { preconditions: { uid } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  })
}

/** Writes a pod with its identity repaired. */
export async function updateMember(writing: Writing, pod: Pod, claims: ClaimsPlan): Promise<void> {
  await told(writing, 'update', pod, async () => {
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
    const about = `Claim ${claim.metadata?.name} Pod ${pod?.metadata?.name} in StatefulSet ${set.metadata?.name}`
    try {
      await client.create(persistentVolumeClaims, claim)
      recorder.record(set, { type: 'Normal', reason: 'SuccessfulCreate', message: `Create ${about} success` })
    } catch (error) {
      const message = `Create ${about.replace(' Pod ', ' for Pod ')} failed error: ${messageOf(error)}`
      if (!isUntold(error)) recorder.record(set, { type: 'Warning', reason: 'FailedCreate', message })
      throw error
    }
  }
  for (const claim of claims.update) await client.update(persistentVolumeClaims, claim)
  const [going] = claims.going
  if (going !== undefined) throw new Error(`pvc ${going} is being deleted`)
}

const verbs = { create: 'Create', delete: 'Delete', update: 'Update' } as const

async function told(
  { set, recorder }: Writing,
  verb: keyof typeof verbs,
  pod: Pod,
  write: () => Promise<void>,
): Promise<void> {
  const about = `${verbs[verb]} Pod ${pod.metadata?.name} in StatefulSet ${set.metadata?.name}`
  try {
    await write()
    recorder.record(set, {
      type: 'Normal',
      reason: `Successful${verbs[verb]}`,
      message: `${about} successful`,
    })
  } catch (error) {
    const message = `${about} failed error: ${messageOf(error)}`
    if (!isUntold(error)) recorder.record(set, { type: 'Warning', reason: `Failed${verbs[verb]}`, message })
    throw error
  }
}

/** No event if the name is taken, which resolves over time, or if the namespace is terminating. */
function isUntold(error: unknown): boolean {
  return isApiError(error, 'AlreadyExists') || isNamespaceGoing(error)
}
