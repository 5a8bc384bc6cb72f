/**
 * Adoption and release: a controller manages the objects that its selector matches. One that matches and that nobody
 * manages is adopted; one of its own that no longer matches is let go. Both write only where the object is still the
 * one that was seen, and only while the owner is not being deleted.
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#non-template-pod-acquisitions
 */
import { isApiError } from '#/api/errors.ts'
import {
  controllerOf,
  controllerReference,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
} from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Selector } from '#/api/selector.ts'
import type { Client } from '#/client/client.ts'

export interface ClaimPlan<T> {
  /** Managed already, and rightly so. */
  readonly keep: readonly T[]
  readonly adopt: readonly T[]
  readonly release: readonly T[]
}

export interface ClaimOptions<T> {
  readonly owner: KubernetesObject
  readonly selector: Selector
  /** Those that the owner manages and those that nobody does; others are passed over. */
  readonly candidates: readonly T[]
  /** Whether an orphan that matches may be adopted; all may when absent. */
  readonly isAdoptable?: (object: T) => boolean
  /** What is adopted gets this finalizer in the same moment, and what is let go loses it. */
  readonly finalizer?: string
}

export function planClaim<T extends KubernetesObject>(options: ClaimOptions<T>): ClaimPlan<T> {
  const { owner, selector, candidates, isAdoptable = () => true } = options
  const keep: T[] = []
  const adopt: T[] = []
  const release: T[] = []
  for (const object of candidates) {
    const controller = controllerOf(object)
    const isMatch = selector.matches(object.metadata?.labels ?? {})
    if (controller === undefined) {
      const isWanted = isMatch && !isBeingDeleted(owner) && !isBeingDeleted(object)
      if (isWanted && isAdoptable(object)) adopt.push(object)
    } else if (controller.uid === owner.metadata?.uid) {
      if (isMatch) keep.push(object)
      else if (!isBeingDeleted(owner)) release.push(object)
    }
  }
  return { keep, adopt, release }
}

export interface ClaimWork<T extends KubernetesObject> extends ClaimOptions<T> {
  readonly client: Client
  readonly resource: Resource<T>
  readonly ownerResource: Resource
}

/** Adopts and releases, and gives back what the owner manages then. */
export async function claim<T extends KubernetesObject>(work: ClaimWork<T>): Promise<readonly T[]> {
  const { client, resource, owner, finalizer } = work
  const { keep, adopt, release } = planClaim(work)
  if (adopt.length === 0 && release.length === 0) return keep
  if (adopt.length > 0 && !(await isStillWanted(work))) return keep
  const reference = controllerReference(owner)
  const adopted = reference
    ? await Promise.all(
        adopt.map(object => patchIfSame(client, resource, adoption(object, reference, finalizer))),
      )
    : []
  await Promise.all(release.map(object => patchIfSame(client, resource, releasing(object, owner, finalizer))))
  return [...keep, ...adopted.filter(object => object !== undefined)]
}

/** The copy may be old: who was deleted meanwhile must not gather orphans that its deletion has just made. */
async function isStillWanted<T extends KubernetesObject>(work: ClaimWork<T>): Promise<boolean> {
  const { client, ownerResource, owner } = work
  const { namespace, name = '', uid } = owner.metadata ?? {}
  const now = await client.find(ownerResource, { namespace, name })
  return now !== undefined && now.metadata?.uid === uid && !isBeingDeleted(now)
}

interface MetadataPatch {
  readonly object: KubernetesObject
  readonly metadata: object
}

function adoption(
  object: KubernetesObject,
  reference: OwnerReference,
  finalizer: string | undefined,
): MetadataPatch {
  return { object, metadata: { ownerReferences: [reference], ...(finalizer && { finalizers: [finalizer] }) } }
}

function releasing(
  object: KubernetesObject,
  owner: KubernetesObject,
  finalizer: string | undefined,
): MetadataPatch {
  const ownerReferences = [{ $patch: 'delete', uid: owner.metadata?.uid }]
  return {
    object,
    metadata: { ownerReferences, ...(finalizer && { '$deleteFromPrimitiveList/finalizers': [finalizer] }) },
  }
}

/** Undefined when the object has gone, or is another one by now. */
async function patchIfSame<T extends KubernetesObject>(
  client: Client,
  resource: Resource<T>,
  { object, metadata }: MetadataPatch,
): Promise<T | undefined> {
  const { namespace, name = '', uid } = object.metadata ?? {}
  const patch = { metadata: { ...metadata, uid } }
  try {
    return await client.patch(resource, { namespace, name }, { type: 'strategic', patch })
  } catch (error) {
    if (isApiError(error, 'NotFound') || isApiError(error, 'Invalid') || isApiError(error, 'Conflict'))
      return undefined
    throw error
  }
}
