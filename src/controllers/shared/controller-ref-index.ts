/**
 * Indexes and event handlers for controller references. If an object's controller changes, both controllers
 * are enqueued; an orphan is reported to controllers that might adopt it.
 */
import { equalJson } from '#/api/text/json-value.ts'
import {
  controllerOf,
  formatKey,
  isBeingDeleted,
  type KubernetesObject,
  type OwnerReference,
  type Stored,
} from '#/api/metadata.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { Resource } from '#/api/resource.ts'
import type { Change, Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'

/** Objects by the uid of their controller; orphans are under ''. */
export function controllerRefIndex<T extends KubernetesObject>(informer: Informer<T>): Index<Stored<T>> {
  return informer.index('controller', object => [controllerOf(object)?.uid ?? ''])
}

/** Orphans by namespace. */
export function orphanIndex<T extends KubernetesObject>(informer: Informer<T>): Index<Stored<T>> {
  return informer.index('orphans', object => {
    return controllerOf(object) === undefined ? [object.metadata.namespace ?? ''] : []
  })
}

/** Enqueues the owner, if it is of this kind, for every change of an owned object. */
export function enqueueForOwner<T extends KubernetesObject>(
  informer: Informer<T>,
  owner: Pick<Resource, 'group' | 'kind'>,
  enqueue: (ownerKey: string, change: Change<T>) => void,
): void {
  informer.addEventHandler((_key, change) => {
    const before = change.oldObject && ownerKey(change.oldObject, owner)
    const after = change.newObject && ownerKey(change.newObject, owner)
    if (before !== undefined) enqueue(before, change)
    if (after !== undefined && after !== before) enqueue(after, change)
  })
}

/** Reports objects that have become orphans, and orphans with changed labels: they may be adopted. */
export function onOrphan<T extends KubernetesObject>(
  informer: Informer<T>,
  adopt: (orphan: Stored<T>) => void,
): void {
  informer.addEventHandler((_key, { oldObject, newObject }) => {
    if (newObject === undefined || controllerOf(newObject) !== undefined || isBeingDeleted(newObject)) return
    const isOld = oldObject !== undefined && controllerOf(oldObject) === undefined
    if (!isOld || !equalJson(oldObject.metadata.labels, newObject.metadata.labels)) adopt(newObject)
  })
}

function ownerKey(object: KubernetesObject, owner: Pick<Resource, 'group' | 'kind'>): string | undefined {
  const reference = controllerOf(object)
  if (reference === undefined || !isOfKind(reference, owner)) return undefined
  return formatKey({ namespace: object.metadata.namespace ?? '', name: reference.name })
}

function isOfKind(reference: OwnerReference, { group, kind }: Pick<Resource, 'group' | 'kind'>): boolean {
  return reference.kind === kind && parseGroupVersion(reference.apiVersion)?.group === group
}
