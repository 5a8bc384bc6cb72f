/**
 * Rejects expansion of a PersistentVolumeClaim unless its storage class sets allowVolumeExpansion.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#persistentvolumeclaimresize
 */
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/quantity.ts'
import { isAbout, refused, type AdmissionPlugin } from './admission.ts'
import { classAnnotation } from './default-storage-class.ts'
import { find } from './lookup.ts'
import type { PluginContext } from './plugin-context.ts'

export function persistentVolumeClaimResize(context: PluginContext): AdmissionPlugin {
  const mayGrow = (claim: PersistentVolumeClaim, before: PersistentVolumeClaim): boolean => {
    const name = classOf(claim)
    if (name === '' || name !== classOf(before)) return false
    return find(context, storageClasses, { name })?.allowVolumeExpansion === true
  }
  return {
    name: 'PersistentVolumeClaimResize',
    handles: target => target.operation === 'UPDATE' && isAbout(target, 'persistentvolumeclaims'),
    validate(request) {
      const claim = request.object as PersistentVolumeClaim
      const before = request.before as PersistentVolumeClaim
      if (compareQuantities(sizeOf(claim), sizeOf(before)) <= 0) return
      if (before.status?.phase !== 'Bound') {
        throw refused(request, 'Only bound persistent volume claims can be expanded')
      }
      if (mayGrow(claim, before)) return
      throw refused(
        request,
        'only dynamically provisioned pvc can be resized and ' +
          'the storageclass that provisions the pvc must support resize',
      )
    },
  }
}

function sizeOf({ spec }: PersistentVolumeClaim): Quantity {
  return tryParseQuantity(spec?.resources?.requests?.['storage'] ?? '') ?? zeroQuantity
}

function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata?.annotations?.[classAnnotation] ?? spec?.storageClassName ?? ''
}
