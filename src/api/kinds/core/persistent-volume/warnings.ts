/** Warnings for persistent volumes that are accepted. */
import type { PersistentVolume } from '../../../generated/core/v1.ts'
import { annotationOf } from '../../../metadata.ts'
import { deprecatedNodeLabels } from '../../validation/deprecated-node-labels.ts'
import type { SourceName } from './sources.ts'

export function warningsForPersistentVolume(volume: PersistentVolume): string[] {
  const { spec = {} } = volume
  const warnings = annotations
    .filter(([key]) => annotationOf(volume, key) !== undefined)
    .map(([key, advice]) => `metadata.annotations[${key}]: ${advice}`)
  if (spec.persistentVolumeReclaimPolicy === 'Recycle') {
    warnings.push(
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. ' +
        'Instead, the recommended approach is to use dynamic provisioning.',
    )
  }
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? []
  for (const [index, { matchExpressions = [] }] of terms.entries()) {
    for (const [position, { key }] of matchExpressions.entries()) {
      const field = `spec.nodeAffinity.required.nodeSelectorTerms[${index}].matchExpressions[${position}].key`
      const advice = deprecatedNodeLabels.get(key)
      if (advice !== undefined) warnings.push(`${field}: ${key} is ${advice}`)
    }
  }
  for (const [name, shown, history] of sources) if (spec[name]) warnings.push(`spec.${shown}: ${history}`)
  return warnings
}

const annotations = [
  [
    'volume.beta.kubernetes.io/storage-class',
    'deprecated since v1.8; use "storageClassName" attribute instead',
  ],
  ['volume.beta.kubernetes.io/mount-options', 'deprecated since v1.31; use "mountOptions" attribute instead'],
] as const

const sources: readonly (readonly [name: SourceName, shown: string, history: string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
]
