/**
 * Rejects expansion of a PersistentVolumeClaim unless its storage class sets allowVolumeExpansion.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#persistentvolumeclaimresize
 */
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { storageClasses } from '#/api/generated/storage/v1-resources.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity, type Quantity } from '#/api/text/quantity.ts'
import { matchesResource, admissionForbidden, type AdmissionPlugin } from '../admission-chain.ts'
import { classAnnotation } from './default-storage-class.ts'
import { getCached } from '../lookup.ts'
import type { PluginContext } from '../plugin-context.ts'

export function persistentVolumeClaimResize(context: PluginContext): AdmissionPlugin {
  const mayGrow = (claim: PersistentVolumeClaim, oldObject: PersistentVolumeClaim): boolean => {
    const name = classOf(claim)
    if (name === '' || name !== classOf(oldObject)) return false
    return getCached(context, storageClasses, { name })?.allowVolumeExpansion === true
  }
  return {
    name: 'PersistentVolumeClaimResize',
    handles: target => target.operation === 'UPDATE' && matchesResource(target, 'persistentvolumeclaims'),
    validate(request) {
      const claim = request.object as PersistentVolumeClaim
      const oldObject = request.oldObject as PersistentVolumeClaim
      if (compareQuantities(sizeOf(claim), sizeOf(oldObject)) <= 0) return
      if (oldObject.status?.phase !== 'Bound') {
        throw admissionForbidden(request, 'Only bound persistent volume claims can be expanded')
      }
      if (mayGrow(claim, oldObject)) return
      throw admissionForbidden(
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
  return metadata.annotations?.[classAnnotation] ?? spec?.storageClassName ?? ''
}
