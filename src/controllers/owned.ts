/**
 * What belongs to whom: objects point at the one controller that manages them. An object that changes hands wakes both,
 * and one that nobody manages wakes whoever might adopt it.
 */
import { equalJson } from '#/api/json-value.ts'
import {
  controllerOf,
  formatKey,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
} from '#/api/metadata.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { Resource } from '#/api/resource.ts'
import type { Change, Informer } from '#/client/informer.ts'
import type { ObjectIndex } from '#/client/object-store.ts'

/** The objects of an informer by the uid of their controller; those that have none are under ''. */
export function ownedIndex<T extends KubernetesObject>(informer: Informer<T>): ObjectIndex<T> {
  return informer.index('controller', object => [controllerOf(object)?.uid ?? ''])
}

/** The objects in a namespace that nobody manages. */
export function orphanIndex<T extends KubernetesObject>(informer: Informer<T>): ObjectIndex<T> {
  return informer.index('orphans', object => {
    return controllerOf(object) === undefined ? [object.metadata?.namespace ?? ''] : []
  })
}

/** Puts the key of the owner, of this kind, into the queue for every change of what it owns. */
export function onOwnedChange<T extends KubernetesObject>(
  informer: Informer<T>,
  owner: Pick<Resource, 'group' | 'kind'>,
  enqueue: (ownerKey: string, change: Change<T>) => void,
): void {
  informer.onChange((_key, change) => {
    const before = change.before && ownerKey(change.before, owner)
    const after = change.after && ownerKey(change.after, owner)
    if (before !== undefined) enqueue(before, change)
    if (after !== undefined && after !== before) enqueue(after, change)
  })
}

/** Told of every object that nobody manages, when that comes to be so and when its labels change: it may be adopted. */
export function onOrphan<T extends KubernetesObject>(
  informer: Informer<T>,
  adopt: (orphan: T) => void,
): void {
  informer.onChange((_key, { before, after }) => {
    if (after === undefined || controllerOf(after) !== undefined || isBeingDeleted(after)) return
    const isOld = before !== undefined && controllerOf(before) === undefined
    if (!isOld || !equalJson(before.metadata?.labels, after.metadata?.labels)) adopt(after)
  })
}

function ownerKey(object: KubernetesObject, owner: Pick<Resource, 'group' | 'kind'>): string | undefined {
  const reference = controllerOf(object)
  if (reference === undefined || !isOfKind(reference, owner)) return undefined
  return formatKey({ namespace: object.metadata?.namespace ?? '', name: reference.name })
}

function isOfKind(reference: OwnerReference, { group, kind }: Pick<Resource, 'group' | 'kind'>): boolean {
  return reference.kind === kind && parseGroupVersion(reference.apiVersion)?.group === group
}
