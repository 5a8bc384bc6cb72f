/**
 * Maps changes to work queue keys: keys with a slash are claims, those without are volumes. Indexes find the
 * claims that wait for a change.
 */
import { annotationOf } from '#/api/metadata.ts'
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import {
  bindCompletedAnnotation,
  isAvailable,
  selectedNodeAnnotation,
} from '#/api/core/persistent-volumes.ts'
import { volumeClaimKeysOf } from '#/api/core/pod-volumes.ts'
import { hasStorageClass, isDefaultClass, storageClassOf } from '#/api/core/storage-classes.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'

export interface BinderInformers {
  readonly claims: Informer<PersistentVolumeClaim>
  readonly volumes: Informer<PersistentVolume>
  readonly classes: Informer<StorageClass>
  readonly pods: Informer<Pod>
  readonly nodes: Informer<Node>
}

/** Additional index key for claims without a storage class; not a valid class name. */
const classless = '/'

export function availableByClass(volumes: Informer<PersistentVolume>): Index<Stored<PersistentVolume>> {
  return volumes.index('available', volume => (isAvailable(volume) ? [storageClassOf(volume)] : []))
}

/** Volumes by the key of the claim that they reference. */
export function volumesByClaim(volumes: Informer<PersistentVolume>): Index<Stored<PersistentVolume>> {
  return volumes.index('claim', volume => claimKeyOf(volume))
}

export function enqueueOnChange(
  { claims, volumes, classes, pods, nodes }: BinderInformers,
  enqueue: (key: string) => void,
): void {
  const enqueueAll = (keys: readonly string[]): void => {
    for (const key of keys) enqueue(key)
  }
  const byVolume = claims.index('volume', ({ spec }) => (spec?.volumeName ? [spec.volumeName] : []))
  const unboundByClass = claims.index('unbound by class', claim => {
    if (!isUnbound(claim)) return []
    return hasStorageClass(claim) ? [storageClassOf(claim)] : [storageClassOf(claim), classless]
  })
  const unboundByNode = claims.index('unbound by node', claim => {
    const node = annotationOf(claim, selectedNodeAnnotation)
    return node !== undefined && isUnbound(claim) ? [node] : []
  })
  const byClaim = volumesByClaim(volumes)
  claims.addEventHandler((key, { oldObject, newObject }) => {
    enqueue(key)
    if (
      oldObject?.spec?.volumeName === newObject?.spec?.volumeName &&
      oldObject?.metadata.uid === newObject?.metadata.uid
    )
      return
    for (const claim of [oldObject, newObject]) if (claim?.spec?.volumeName) enqueue(claim.spec.volumeName)
    enqueueAll(byClaim.keys(key))
  })
  volumes.addEventHandler((name, { oldObject, newObject }) => {
    enqueue(name)
    if (oldObject && newObject && !mattersToClaims(oldObject, newObject)) return
    for (const volume of [oldObject, newObject]) if (volume) enqueueAll(claimKeyOf(volume))
    enqueueAll(byVolume.keys(name))
    if (newObject && isAvailable(newObject)) enqueueAll(unboundByClass.keys(storageClassOf(newObject)))
  })
  classes.addEventHandler((name, { newObject }) => {
    enqueueAll(unboundByClass.keys(name))
    if (newObject && isDefaultClass(newObject)) enqueueAll(unboundByClass.keys(classless))
  })
  // The event of a waiting claim depends on whether a pod uses it.
  pods.addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject?.spec?.nodeName === newObject?.spec?.nodeName && oldObject && newObject) return
    for (const pod of [newObject ?? oldObject]) {
      for (const key of pod ? volumeClaimKeysOf(pod) : []) {
        const claim = claims.get(key)
        if (claim && isUnbound(claim)) enqueue(key)
      }
    }
  })
  nodes.addEventHandler((name, { oldObject }) => {
    if (oldObject === undefined) enqueueAll(unboundByNode.keys(name))
  })
}

function isUnbound(claim: PersistentVolumeClaim): boolean {
  return !claim.spec?.volumeName && annotationOf(claim, bindCompletedAnnotation) === undefined
}

function claimKeyOf({ spec }: PersistentVolume): readonly string[] {
  const { namespace, name } = spec?.claimRef ?? {}
  return namespace && name ? [`${namespace}/${name}`] : []
}

function mattersToClaims(before: PersistentVolume, after: PersistentVolume): boolean {
  return (
    before.status?.phase !== after.status?.phase ||
    !equalJson(before.spec, after.spec) ||
    !equalJson(before.metadata.labels, after.metadata.labels)
  )
}
