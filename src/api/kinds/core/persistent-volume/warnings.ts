/** Warnings for persistent volumes that are accepted. */
import type { PersistentVolume } from '../../../generated/core/v1.ts'
import { annotationOf } from '../../annotation-of.ts'
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

/** Deprecated node labels with the text of the warning. */
export const deprecatedNodeLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', replacedSince('v1.14', 'kubernetes.io/arch')],
  ['beta.kubernetes.io/os', replacedSince('v1.14', 'kubernetes.io/os')],
  ['failure-domain.beta.kubernetes.io/region', replacedSince('v1.17', 'topology.kubernetes.io/region')],
  ['failure-domain.beta.kubernetes.io/zone', replacedSince('v1.17', 'topology.kubernetes.io/zone')],
  ['beta.kubernetes.io/instance-type', replacedSince('v1.17', 'node.kubernetes.io/instance-type')],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
])

function replacedSince(version: string, label: string): string {
  return `deprecated since ${version}; use "${label}" instead`
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
