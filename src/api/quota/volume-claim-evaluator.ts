/**
 * Quota evaluator for PersistentVolumeClaims: object count and requested storage, in total and per storage
 * class.
 */
import type { PersistentVolumeClaim } from '../generated/core/v1.ts'
import { annotationOf } from '../metadata.ts'
import { quantityOf } from '../core/resource-amounts.ts'
import { compareQuantities, quantityFromInteger, quantityValue, type Quantity } from '../text/quantity.ts'
import { one, type Amounts } from './amounts.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'
import { selectsName } from './scope.ts'

const count = objectCountName('', 'persistentvolumeclaims')
const claims = 'persistentvolumeclaims'
const storage = 'requests.storage'
/** `gold.storageclass.storage.k8s.io/requests.storage`. */
const ofClass = '.storageclass.storage.k8s.io/'

export const volumeClaimEvaluator: QuotaEvaluator = {
  matchesResource: resource => {
    if (resource === count || resource === claims || resource === storage) return true
    return resource.endsWith(ofClass + claims) || resource.endsWith(ofClass + storage)
  },
  usage: object => usage(object as PersistentVolumeClaim),
  matchesScope: (object, scope) => {
    if (scope.scopeName !== 'VolumeAttributesClass') return false
    return selectsName(scope, attributesClassesOf(object as PersistentVolumeClaim))
  },
  handles: ({ subresource }) => subresource === '' || subresource === 'status',
}

function usage(claim: PersistentVolumeClaim): Amounts {
  const storageClass = annotationOf(claim, oldClassAnnotation) ?? claim.spec?.storageClassName ?? ''
  const asked = storageOf(claim)
  return new Map([
    [claims, one],
    [count, one],
    ...(asked ? [[storage, asked] as const] : []),
    ...(storageClass === '' ? [] : [[storageClass + ofClass + claims, one] as const]),
    ...(storageClass === '' || !asked ? [] : [[storageClass + ofClass + storage, asked] as const]),
  ])
}

const oldClassAnnotation = 'volume.beta.kubernetes.io/storage-class'

/** In whole bytes. If an expansion failed, the larger allocated size counts. */
function storageOf({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const text = spec?.resources?.requests?.['storage']
  if (text === undefined) return undefined
  const asked = quantityOf(text)
  const allocated = quantityOf(status?.allocatedResources?.['storage'] ?? '0')
  const most = compareQuantities(allocated, asked) > 0 ? allocated : asked
  return quantityFromInteger(quantityValue(most), most.format)
}

/** The desired, the current and the target VolumeAttributesClass. */
function attributesClassesOf({ spec, status }: PersistentVolumeClaim): readonly string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(names.flatMap(name => (name ? [name] : [])))]
}
