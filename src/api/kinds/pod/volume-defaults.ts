/** Defaulting of volumes. */
import type {
  DownwardAPIVolumeFile,
  ObjectFieldSelector,
  PersistentVolumeClaimSpec,
  ResourceFieldSelector,
  Volume,
  VolumeProjection,
} from '../../generated/core/v1.ts'
import { pullPolicyFor } from './image-reference.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { mapCopyOnWrite, withDefaults, withField, withMissing } from '../../copy-on-write.ts'

/** A volume without a source is an emptyDir. */
export function withVolumeDefaults(volume: Volume): Volume {
  const names = Object.keys(volume)
  if (names.length === 0 || (names.length === 1 && volume.name !== undefined)) {
    return { ...volume, emptyDir: {} }
  }
  let result = volume
  for (const withSourceDefaults of sources) result = withSourceDefaults(result)
  return result
}

/** rw-r--r-- */
const fileMode = 0o644
const tokenSeconds = 3600

const sources: readonly ((volume: Volume) => Volume)[] = [
  volume => withField(volume, 'secret', each => withMissing(each, { defaultMode: fileMode })),
  volume => withField(volume, 'configMap', each => withMissing(each, { defaultMode: fileMode })),
  volume =>
    withField(volume, 'downwardAPI', each => {
      const complete = withMissing(each, { defaultMode: fileMode })
      return withField(complete, 'items', list => mapCopyOnWrite(list, withFileDefaults))
    }),
  volume =>
    withField(volume, 'projected', each => {
      const complete = withMissing(each, { defaultMode: fileMode })
      return withField(complete, 'sources', list => mapCopyOnWrite(list, withProjectionDefaults))
    }),
  volume => withField(volume, 'hostPath', each => withMissing(each, { type: '' })),
  volume =>
    withField(volume, 'ephemeral', each =>
      withField(each, 'volumeClaimTemplate', template => {
        return withField(template, 'spec', withClaimSpecDefaults)
      }),
    ),
  volume =>
    withField(volume, 'image', each => {
      return withDefaults(each, { pullPolicy: pullPolicyFor(each.reference ?? '') })
    }),
  volume => withField(volume, 'iscsi', each => withDefaults(each, { iscsiInterface: 'default' })),
  volume =>
    withField(volume, 'rbd', each => {
      return withDefaults(each, { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' })
    }),
  volume =>
    withField(volume, 'azureDisk', each => {
      return withMissing(each, { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' })
    }),
  volume =>
    withField(volume, 'scaleIO', each => {
      return withDefaults(each, { storageMode: 'ThinProvisioned', fsType: 'xfs' })
    }),
]

export function withClaimSpecDefaults(spec: PersistentVolumeClaimSpec): PersistentVolumeClaimSpec {
  const complete = withMissing(spec, { volumeMode: 'Filesystem' })
  return withField(complete, 'resources', resources => {
    return withField(withField(resources, 'limits', roundUp), 'requests', roundUp)
  })
}

export function withFieldSelectorDefaults(selector: ObjectFieldSelector): ObjectFieldSelector {
  return withDefaults(selector, { apiVersion: 'v1' })
}

/** The default divisor is written as `0`, which means 1. */
export function withResourceSelectorDefaults(selector: ResourceFieldSelector): ResourceFieldSelector {
  return withMissing(selector, { divisor: '0' })
}

function withProjectionDefaults(projection: VolumeProjection): VolumeProjection {
  const token = withField(projection, 'serviceAccountToken', each => {
    return withMissing(each, { expirationSeconds: tokenSeconds })
  })
  return withField(token, 'downwardAPI', each =>
    withField(each, 'items', list => mapCopyOnWrite(list, withFileDefaults)),
  )
}

function withFileDefaults(file: DownwardAPIVolumeFile): DownwardAPIVolumeFile {
  const complete = withField(file, 'fieldRef', withFieldSelectorDefaults)
  return withField(complete, 'resourceFieldRef', withResourceSelectorDefaults)
}
