import { hasFinalizer, isBeingDeleted, type KubernetesObject, type OwnerReference } from '#/api/metadata.ts'
import type { DeleteOptions } from '#/client/client.ts'
import { ownersOf, type GraphNode, type OwnerGraph } from './owner-graph.ts'

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'

/** How things stand with an owner that an object refers to. */
export type OwnerState =
  /** It is there. */
  | 'solid'
  /** It is not, or not where the object could be owned by it. */
  | 'absent'
  /** It is being deleted, and waits for those whom it owns to go first. */
  | 'waiting'

export type CollectPlan =
  | { readonly action: 'nothing' }
  /** The owner goes and leaves behind what it owned. */
  | { readonly action: 'orphan'; readonly dependents: readonly GraphNode[] }
  /** The owner waits for those whom it owns; they are looked at. */
  | { readonly action: 'wait'; readonly dependents: readonly string[] }
  | { readonly action: 'remove-finalizer'; readonly finalizer: string }
  | { readonly action: 'set-owners'; readonly owners: readonly OwnerReference[] }
  | { readonly action: 'delete'; readonly policy: NonNullable<DeleteOptions['propagationPolicy']> }

/** What to do about an object that is going, and takes others with it or not. */
export function planOwner(graph: OwnerGraph, object: KubernetesObject): CollectPlan {
  const uid = object.metadata?.uid ?? ''
  if (!isBeingDeleted(object)) return { action: 'nothing' }
  if (hasFinalizer(object, orphanFinalizer)) {
    const dependents = graph.dependentsOf(uid)
    if (dependents.length > 0) return { action: 'orphan', dependents }
    return { action: 'remove-finalizer', finalizer: orphanFinalizer }
  }
  if (!hasFinalizer(object, foregroundFinalizer)) return { action: 'nothing' }
  const isBlocking = ({ object: dependent }: GraphNode): boolean => {
    return ownersOf(dependent).some(owner => owner.uid === uid && owner.blockOwnerDeletion === true)
  }
  if (graph.dependentsOf(uid).some(isBlocking))
    return { action: 'wait', dependents: graph.dependentUids(uid) }
  return { action: 'remove-finalizer', finalizer: foregroundFinalizer }
}

/** What to do about an object by how things stand with those that it says own it. */
export function planDependent(
  graph: OwnerGraph,
  object: KubernetesObject,
  stateOf: (owner: OwnerReference) => OwnerState,
): CollectPlan {
  const owners = ownersOf(object)
  if (owners.length === 0 || isBeingDeleted(object)) return { action: 'nothing' }
  const solid = owners.filter(owner => stateOf(owner) === 'solid')
  if (solid.length === owners.length) return { action: 'nothing' }
  if (solid.length > 0) return { action: 'set-owners', owners: solid }
  const dependents = graph.dependentsOf(object.metadata?.uid ?? '')
  if (owners.some(owner => stateOf(owner) === 'waiting') && dependents.length > 0) {
    // Those that own each other would wait for each other for ever.
    const isCircle = dependents.some(({ object: each }) => isWaiting(each))
    const blocking = owners.some(owner => owner.blockOwnerDeletion)
    if (isCircle && blocking) {
      return { action: 'set-owners', owners: owners.map(owner => ({ ...owner, blockOwnerDeletion: false })) }
    }
    return { action: 'delete', policy: 'Foreground' }
  }
  if (hasFinalizer(object, orphanFinalizer)) return { action: 'delete', policy: 'Orphan' }
  return { action: 'delete', policy: hasFinalizer(object, foregroundFinalizer) ? 'Foreground' : 'Background' }
}

/** Whether the object is being deleted and waits for what it owns to be gone, or free. */
export function dependsOnOthers(object: KubernetesObject): boolean {
  return isWaiting(object) || (isBeingDeleted(object) && hasFinalizer(object, orphanFinalizer))
}

/** Whether the object is being deleted and waits for what it owns to be gone. */
export function isWaiting(object: KubernetesObject): boolean {
  return isBeingDeleted(object) && hasFinalizer(object, foregroundFinalizer)
}
