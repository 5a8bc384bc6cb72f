/**
 * Adds protection finalizers to PersistentVolumes, PersistentVolumeClaims and VolumeAttributesClasses, so
 * that they are not removed while in use.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#storageobjectinuseprotection
 */
import { qualifiedResourceName } from '#/api/resource.ts'
import type { AdmissionPlugin, AdmissionTarget } from '../admission-chain.ts'
import { withFinalizer } from './protection-finalizer.ts'

export function storageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    handles: target =>
      target.operation === 'CREATE' && target.subresource === '' && finalizerOf(target) !== undefined,
    mutate: request => request.object && withFinalizer(request.object, finalizerOf(request)!),
  }
}

function finalizerOf({ resource }: AdmissionTarget): string | undefined {
  return finalizers.get(qualifiedResourceName(resource))
}

const finalizers: ReadonlyMap<string, string> = new Map([
  ['persistentvolumes', 'kubernetes.io/pv-protection'],
  ['persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['volumeattributesclasses.storage.k8s.io', 'kubernetes.io/vac-protection'],
])
