/** Rules of PersistentVolume. The volume source is immutable. */
import { forbiddenField, type FieldError } from '../../field-error.ts'
import type { PersistentVolume, PersistentVolumeSpec } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { annotationOf } from '../../metadata.ts'
import { validateNodeAffinityUpdate } from './persistent-volume/node-affinity.ts'
import { validatePersistentVolumeSpec } from './persistent-volume-validation.ts'
import { hasMountOptions, sourceOf } from './persistent-volume/sources.ts'
import { warningsForPersistentVolume } from './persistent-volume/warnings.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults, withField, withMissing, withoutField } from '../../copy-on-write.ts'

export const persistentVolumeRules: KindRules<PersistentVolume> = {
  validatesMetadataOnce: true,
  withDefaults: withVolumeDefaults,
  prepareForCreate: pending,
  prepareForStatusUpdate: withPhaseTime,
  validate: validateVolume,
  validateUpdate: (volume, old) => [
    // Kubernetes validates the volume twice, and clients see both errors.
    ...validateVolume(volume),
    ...validateVolume(volume),
    ...validateUnchanged(volume.spec ?? {}, old.spec ?? {}),
  ],
  warnings: warningsForPersistentVolume,
  returnDeletedObject: true,
}

function withVolumeDefaults(volume: PersistentVolume): PersistentVolume {
  const spec = withSpecDefaults(volume.spec ?? {})
  const status = withDefaults(volume.status ?? {}, { phase: 'Pending' })
  return spec === volume.spec && status === volume.status ? volume : { ...volume, spec, status }
}

function withSpecDefaults(given: PersistentVolumeSpec): PersistentVolumeSpec {
  const named = withDefaults(given, { persistentVolumeReclaimPolicy: 'Retain' })
  let spec = withField(withMissing(named, { volumeMode: 'Filesystem' }), 'capacity', roundUp)
  spec = withField(spec, 'hostPath', source => withMissing(source, { type: '' }))
  spec = withField(spec, 'rbd', source => {
    return withDefaults(source, { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' })
  })
  spec = withField(spec, 'iscsi', source => withDefaults(source, { iscsiInterface: 'default' }))
  spec = withField(spec, 'azureDisk', source => {
    return withMissing(source, { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' })
  })
  return withField(spec, 'scaleIO', source => {
    return withDefaults(source, { storageMode: 'ThinProvisioned', fsType: 'xfs' })
  })
}

function pending(volume: PersistentVolume): PersistentVolume {
  const time = volume.metadata.creationTimestamp
  return { ...volume, status: { phase: 'Pending', ...(time && { lastPhaseTransitionTime: time }) } }
}

/** Keeps `lastPhaseTransitionTime` while the phase is unchanged. */
function withPhaseTime(volume: PersistentVolume, old: PersistentVolume, now: string): PersistentVolume {
  const { phase, lastPhaseTransitionTime: time } = volume.status ?? {}
  // A client that writes back the old value has not set a time explicitly.
  const isGiven = time !== undefined && time !== old.status?.lastPhaseTransitionTime
  if (isGiven) return volume
  const last = phase === old.status?.phase ? old.status?.lastPhaseTransitionTime : now
  return last === undefined
    ? volume
    : { ...volume, status: { ...volume.status, lastPhaseTransitionTime: last } }
}

const mountOptionsAnnotation = 'volume.beta.kubernetes.io/mount-options'

function validateVolume(volume: PersistentVolume): FieldError[] {
  const spec = volume.spec ?? {}
  const errors = validatePersistentVolumeSpec('spec', spec, volume.metadata.name ?? '')
  if (hasMountOptions(spec) || annotationOf(volume, mountOptionsAnnotation) === undefined) return errors
  const detail = 'may not specify mount options for this volume type'
  return [...errors, forbiddenField(`metadata.annotations.${mountOptionsAnnotation}`, detail)]
}

function validateUnchanged(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): FieldError[] {
  const errors: FieldError[] = []
  if (!semanticEqual(sourceOf(withSecretOf(spec, old)), sourceOf(old))) {
    const detail = 'spec.persistentvolumesource is immutable after creation'
    errors.push(forbiddenField('spec.persistentvolumesource', detail))
  }
  errors.push(
    ...validateImmutable(spec.volumeMode, old.volumeMode, 'volumeMode'),
    ...validateNodeAffinityUpdate('nodeAffinity', spec.nodeAffinity, old.nodeAffinity),
  )
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined) {
    const detail = 'update from non-nil value to nil is forbidden'
    errors.push(forbiddenField('spec.volumeAttributesClassName', detail))
  }
  return errors
}

/** `controllerExpandSecretRef` may be added if it was unset. */
function withSecretOf(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): PersistentVolumeSpec {
  const isAdded = old.csi !== undefined && old.csi.controllerExpandSecretRef === undefined
  return isAdded ? withField(spec, 'csi', csi => withoutField(csi, 'controllerExpandSecretRef')) : spec
}
