/**
 * Control on volume types: the restricted level allows only those that do not mount storage chosen by the pod
 * directly.
 */
import type { Volume } from '#/api/generated/core/v1.ts'
import { distinct, plural, quoted, type Check, type PodToCheck, type Violation } from '../check.ts'

const allowedTypes: ReadonlySet<string> = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
])

/** Forbidden volume types that are named in violations; others are reported as `unknown`. */
const otherTypes: ReadonlySet<string> = new Set([
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
])

function checkVolumes({ spec }: PodToCheck): Violation | undefined {
  const wrong = (spec.volumes ?? []).filter(volume => !Object.keys(volume).some(key => allowedTypes.has(key)))
  if (wrong.length === 0) return undefined
  const types = distinct(wrong.map(typeOf))
  const names = `${plural(wrong.length, 'volume')} ${quoted(wrong.map(volume => volume.name))}`
  const of = plural(types.length, 'restricted volume type')
  const detail = `${names} ${plural(wrong.length, 'uses', 'use')} ${of} ${quoted(types)}`
  return { reason: 'restricted volume types', detail }
}

function typeOf(volume: Volume): string {
  return Object.keys(volume).find(key => otherTypes.has(key)) ?? 'unknown'
}

export const volumeChecks: readonly Check[] = [
  {
    id: 'restrictedVolumes',
    level: 'restricted',
    versions: [{ since: 0, check: checkVolumes, overrides: 'hostPathVolumes' }],
  },
]
