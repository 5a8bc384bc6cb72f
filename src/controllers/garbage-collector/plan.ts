import {
  hasFinalizer,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
  type Stored,
} from '#/api/metadata.ts'
import type { DeleteOptions } from '#/client/client.ts'
import { ownersOf, type GraphNode, type OwnerGraph } from './owner-graph.ts'

const orphanFinalizer = 'orphan'
const foregroundFinalizer = 'foregroundDeletion'

/** State of an owner that an object references. */
export type OwnerState =
  /** The owner exists. */
  | 'solid'
  /** The owner does not exist, or not in a scope in which it can own the object. */
  | 'dangling'
  /** The owner is being deleted with foreground propagation and waits for its dependents. */
  | 'waitingForDependentsDeletion'

export type GarbageCollectionPlan =
  | { readonly action: 'nothing' }
  /** Orphan propagation: the owner reference is removed from all dependents. */
  | { readonly action: 'orphan'; readonly dependents: readonly GraphNode[] }
  /** Foreground deletion: the dependents are processed first. */
  | { readonly action: 'wait'; readonly dependents: readonly string[] }
  | { readonly action: 'remove-finalizer'; readonly finalizer: string }
  | { readonly action: 'set-owners'; readonly owners: readonly OwnerReference[] }
  | { readonly action: 'delete'; readonly policy: NonNullable<DeleteOptions['propagationPolicy']> }

/** The action for an object being deleted with foreground or orphan propagation. */
export function planDeletingOwner(graph: OwnerGraph, object: Stored): GarbageCollectionPlan {
  const uid = object.metadata.uid
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

/** The action for an object, given the states of its owners. */
export function planDependent(
  graph: OwnerGraph,
  object: Stored,
  stateOf: (owner: OwnerReference) => OwnerState,
): GarbageCollectionPlan {
  const owners = ownersOf(object)
  if (owners.length === 0 || isBeingDeleted(object)) return { action: 'nothing' }
  const solid = owners.filter(owner => stateOf(owner) === 'solid')
  if (solid.length === owners.length) return { action: 'nothing' }
  if (solid.length > 0) return { action: 'set-owners', owners: solid }
  const dependents = graph.dependentsOf(object.metadata.uid)
  if (owners.some(owner => stateOf(owner) === 'waitingForDependentsDeletion') && dependents.length > 0) {
    // A cycle of owners in foreground deletion would block forever.
    const isCircle = dependents.some(({ object: each }) => isDeletingDependents(each))
    const blocking = owners.some(owner => owner.blockOwnerDeletion)
    if (isCircle && blocking) {
      return { action: 'set-owners', owners: owners.map(owner => ({ ...owner, blockOwnerDeletion: false })) }
    }
    return { action: 'delete', policy: 'Foreground' }
  }
  if (hasFinalizer(object, orphanFinalizer)) return { action: 'delete', policy: 'Orphan' }
  return { action: 'delete', policy: hasFinalizer(object, foregroundFinalizer) ? 'Foreground' : 'Background' }
}

/** True if the object is being deleted and has the `foregroundDeletion` or `orphan` finalizer. */
export function isBlockedByDependents(object: KubernetesObject): boolean {
  return isDeletingDependents(object) || (isBeingDeleted(object) && hasFinalizer(object, orphanFinalizer))
}

/** True if the object is being deleted with foreground propagation. */
export function isDeletingDependents(object: KubernetesObject): boolean {
  return isBeingDeleted(object) && hasFinalizer(object, foregroundFinalizer)
}
