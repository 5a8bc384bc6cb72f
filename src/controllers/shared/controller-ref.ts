/**
 * Adoption and release of objects by label selector. An orphan that matches the selector is adopted; an owned
 * object that no longer matches is released. Both writes require that the object's uid is unchanged and that
 * the owner is not being deleted.
 * https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#non-template-pod-acquisitions
 */
import { isApiError } from '#/api/errors.ts'
import {
  controllerOf,
  controllerReference,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
  type Stored,
} from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { Client } from '#/client/client.ts'

export interface AdoptionPlan<T> {
  /** Already owned, and matching. */
  readonly keep: readonly T[]
  readonly adopt: readonly T[]
  readonly release: readonly T[]
}

export interface AdoptionOptions<T> {
  readonly owner: Stored
  readonly selector: Selector
  /** Owned objects and orphans; objects of other controllers are ignored. */
  readonly candidates: readonly T[]
  /** Restricts which matching orphans are adopted; default all. */
  readonly isAdoptable?: (object: T) => boolean
  /** Added when an object is adopted and removed when it is released, in the same write. */
  readonly finalizer?: string
}

export function planAdoption<T extends KubernetesObject>(options: AdoptionOptions<T>): AdoptionPlan<T> {
  const { owner, selector, candidates, isAdoptable = () => true } = options
  const keep: T[] = []
  const adopt: T[] = []
  const release: T[] = []
  for (const object of candidates) {
    const controller = controllerOf(object)
    const isMatch = selector.matches(object.metadata.labels ?? {})
    if (controller === undefined) {
      const isWanted = isMatch && !isBeingDeleted(owner) && !isBeingDeleted(object)
      if (isWanted && isAdoptable(object)) adopt.push(object)
    } else if (controller.uid === owner.metadata.uid) {
      if (isMatch) keep.push(object)
      else if (!isBeingDeleted(owner)) release.push(object)
    }
  }
  return { keep, adopt, release }
}

export interface AdoptionWork<T extends KubernetesObject> extends AdoptionOptions<Stored<T>> {
  readonly client: Client
  readonly resource: Resource<T>
  readonly ownerResource: Resource
}

/** Adopts and releases objects, and returns those that the owner controls afterwards. */
export async function claimObjects<T extends KubernetesObject>(
  work: AdoptionWork<T>,
): Promise<readonly Stored<T>[]> {
  const { client, resource, owner, finalizer } = work
  const { keep, adopt, release } = planAdoption(work)
  if (adopt.length === 0 && release.length === 0) return keep
  if (adopt.length > 0 && !(await isStillWanted(work))) return keep
  const reference = controllerReference(owner)
  const adopted = await Promise.all(
    adopt.map(object => patchIfSame(client, resource, adoption(object, reference, finalizer))),
  )
  await Promise.all(release.map(object => patchIfSame(client, resource, releasing(object, owner, finalizer))))
  return [...keep, ...adopted.filter(object => object !== undefined)]
}

/**
 * Reads the owner from the API server: if it was deleted and the informer does not show it yet, it must not
 * adopt the orphans that its deletion has just created.
 */
async function isStillWanted<T extends KubernetesObject>(work: AdoptionWork<T>): Promise<boolean> {
  const { client, ownerResource, owner } = work
  const { namespace, name, uid } = owner.metadata
  const now = await client.find(ownerResource, { namespace, name })
  return now !== undefined && now.metadata.uid === uid && !isBeingDeleted(now)
}

interface MetadataPatch {
  readonly object: Stored
  readonly metadata: object
}

function adoption(object: Stored, reference: OwnerReference, finalizer: string | undefined): MetadataPatch {
  return { object, metadata: { ownerReferences: [reference], ...(finalizer && { finalizers: [finalizer] }) } }
}

function releasing(object: Stored, owner: Stored, finalizer: string | undefined): MetadataPatch {
  const ownerReferences = [{ $patch: 'delete', uid: owner.metadata.uid }]
  return {
    object,
    metadata: { ownerReferences, ...(finalizer && { '$deleteFromPrimitiveList/finalizers': [finalizer] }) },
  }
}

/** Undefined if the object was deleted or replaced. */
async function patchIfSame<T extends KubernetesObject>(
  client: Client,
  resource: Resource<T>,
  { object, metadata }: MetadataPatch,
): Promise<Stored<T> | undefined> {
  const { namespace, name, uid } = object.metadata
  const patch = { metadata: { ...metadata, uid } }
  try {
    return await client.patch(resource, { namespace, name }, { type: 'strategic', patch })
  } catch (error) {
    if (isApiError(error, 'NotFound') || isApiError(error, 'Invalid') || isApiError(error, 'Conflict'))
      return undefined
    throw error
  }
}
