/**
 * Prevents the deletion of VolumeAttributesClasses while a claim or volume has, requests or is changing to
 * them.
 * https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/
 */
import { persistentVolumeClaims, persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { volumeAttributesClasses } from '#/api/generated/storage/v1-resources.ts'
import {
  hasFinalizer,
  isBeingDeleted,
  withFinalizer,
  withoutFinalizer,
  type KubernetesObject,
  type Stored,
} from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const volumeAttributesClassProtectionController: Controller = {
  name: 'volumeattributesclass-protection-controller',
  queueName: 'vacprotection',
  account: 'volumeattributesclass-protection-controller',
  setUp,
}

const finalizer = 'kubernetes.io/vac-protection'

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const classes = informer(volumeAttributesClasses)
  const users = [
    usersOf(informer(persistentVolumes), classesOfVolume, enqueue),
    usersOf(informer(persistentVolumeClaims), classesOfClaim, enqueue),
  ]
  classes.addEventHandler((name, { newObject }) => {
    if (newObject !== undefined && isBeingDeleted(newObject) === hasFinalizer(newObject, finalizer))
      enqueue(name)
  })

  return async ({ key: name, client }) => {
    const found = classes.get(name)
    if (found === undefined || isBeingDeleted(found) !== hasFinalizer(found, finalizer)) return undefined
    if (!isBeingDeleted(found)) await client.update(volumeAttributesClasses, withFinalizer(found, finalizer))
    else if (users.every(index => index.keys(name).length === 0))
      await client.update(volumeAttributesClasses, withoutFinalizer(found, finalizer))
    return undefined
  }
}

/** Indexes objects by the classes that they use, and enqueues a class when an object stops using it. */
function usersOf<T extends KubernetesObject>(
  informer: Informer<T>,
  classesOf: (object: T) => readonly string[],
  enqueue: (name: string) => void,
): Pick<Index<Stored<T>>, 'keys'> {
  informer.addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject === undefined) return
    const kept = newObject === undefined ? [] : classesOf(newObject)
    for (const name of classesOf(oldObject)) if (!kept.includes(name)) enqueue(name)
  })
  return informer.index('attributes class', classesOf)
}

function classesOfVolume({ spec }: PersistentVolume): readonly string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []
}

function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(names.flatMap(name => name || []))]
}
