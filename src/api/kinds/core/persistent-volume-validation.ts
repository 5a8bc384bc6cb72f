/** Validation of the spec of a PersistentVolume, and of an inline volume spec in a VolumeAttachment. */
import { posix } from 'node:path'
import { enumValues } from '../../definitions.ts'
import { forbiddenField, notSupported, required, type FieldError } from '../../field-error.ts'
import type { PersistentVolumeSpec } from '../../generated/core/v1.ts'
import { validateDnsSubdomain, validateOptionalChoice } from '../validation/field-checks.ts'
import { validatePositiveQuantity, validateStoredAmount } from '../validation/resource-quantities.ts'
import { validateNodeAffinity } from './persistent-volume/node-affinity.ts'
import { sourceRules } from './persistent-volume/sources.ts'

export function validatePersistentVolumeSpec(
  field: string,
  spec: PersistentVolumeSpec,
  volumeName: string,
): FieldError[] {
  const { persistentVolumeReclaimPolicy: policy, storageClassName, volumeMode } = spec
  return [
    ...validateAccessModes(`${field}.accessModes`, spec.accessModes ?? []),
    ...validateCapacity(`${field}.capacity`, spec.capacity),
    ...validateOptionalChoice(`${field}.persistentVolumeReclaimPolicy`, policy || undefined, reclaimPolicies),
    ...(spec.nodeAffinity ? validateNodeAffinity(`${field}.nodeAffinity`, spec.nodeAffinity) : []),
    ...validateSources(field, spec, volumeName),
    ...validateRecycling(field, spec),
    ...(storageClassName ? validateDnsSubdomain(`${field}.storageClassName`, storageClassName) : []),
    ...validateOptionalChoice(`${field}.volumeMode`, volumeMode, enumValues('core.PersistentVolumeMode')),
    ...validateAttributesClass(field, spec),
  ]
}

/**
 * Validates the inline volume of a VolumeAttachment, as used for migrated in-tree volumes: only CSI is
 * allowed.
 */
export function validateInlineVolumeSpec(field: string, spec: PersistentVolumeSpec): FieldError[] {
  const { persistentVolumeReclaimPolicy: policy, volumeMode, storageClassName } = spec
  const outside = 'may not be specified in the context of inline volumes'
  const errors: FieldError[] = []
  if (spec.claimRef) errors.push(forbiddenField(`${field}.claimRef`, outside))
  if (Object.keys(spec.capacity ?? {}).length > 0) errors.push(forbiddenField(`${field}.capacity`, outside))
  if (!spec.csi) errors.push(required(`${field}.csi`, 'has to be specified in the context of inline volumes'))
  errors.push(...validateAccessModes(`${field}.accessModes`, spec.accessModes ?? []))
  if (policy && policy !== 'Retain') {
    const detail = 'may only be Retain in the context of inline volumes'
    errors.push(forbiddenField(`${field}.persistentVolumeReclaimPolicy`, detail))
  }
  if (spec.nodeAffinity) errors.push(forbiddenField(`${field}.nodeAffinity`, outside))
  errors.push(...validateSources(field, spec, ''), ...validateRecycling(field, spec))
  if (storageClassName) errors.push(forbiddenField(`${field}.storageClassName`, outside))
  if (volumeMode !== undefined && volumeMode !== 'Filesystem') {
    const detail = 'may not specify volumeMode other than Filesystem in the context of inline volumes'
    errors.push(forbiddenField(`${field}.volumeMode`, detail))
  }
  return errors
}

const reclaimPolicies = enumValues('core.PersistentVolumeReclaimPolicy')
const accessModes = enumValues('core.PersistentVolumeAccessMode')

function validateAccessModes(field: string, modes: readonly string[]): FieldError[] {
  if (modes.length === 0) return [required(field, '')]
  const unknown = modes.filter(mode => !accessModes.includes(mode))
  const errors = unknown.map(mode => notSupported(field, mode, accessModes))
  const isShared = modes.some(mode => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))
  if (isShared && modes.includes('ReadWriteOncePod')) {
    errors.push(forbiddenField(field, 'may not use ReadWriteOncePod with other access modes'))
  }
  return errors
}

function validateCapacity(
  field: string,
  capacity: Readonly<Record<string, string>> | undefined,
): FieldError[] {
  const names = Object.keys(capacity ?? {})
  const errors = names.length === 0 ? [required(field, '')] : []
  if (names.length !== 1 || names[0] !== 'storage') {
    errors.push(notSupported(field, capacity ?? null, ['storage']))
  }
  return [
    ...errors,
    ...Object.entries(capacity ?? {}).flatMap(([name, amount]) => [
      ...validateStoredAmount(`${field}[${name}]`, amount),
      ...validatePositiveQuantity(`${field}[${name}]`, amount),
    ]),
  ]
}

/** Exactly one volume source must be set. */
function validateSources(field: string, spec: PersistentVolumeSpec, volumeName: string): FieldError[] {
  const [first, ...others] = sourceRules.filter(({ name }) => spec[name] !== undefined)
  if (first === undefined) return [required(field, 'must specify a volume type')]
  const errors = first.validate(field, spec, volumeName)
  if (first.name === 'local' && spec.nodeAffinity === undefined) {
    errors.push(required(`${field}.nodeAffinity`, 'Local volume requires node affinity'))
  }
  return [
    ...errors,
    ...others.map(({ conflictName }) => {
      return forbiddenField(`${field}.${conflictName}`, 'may not specify more than 1 volume type')
    }),
  ]
}

/** Recycling deletes the volume's contents, so it is forbidden for a hostPath of `/`. */
function validateRecycling(field: string, spec: PersistentVolumeSpec): FieldError[] {
  const path = spec.hostPath?.path
  if (!path || posix.normalize(path) !== '/' || spec.persistentVolumeReclaimPolicy !== 'Recycle') return []
  const detail = "may not be 'recycle' for a hostPath mount of '/'"
  return [forbiddenField(`${field}.persistentVolumeReclaimPolicy`, detail)]
}

function validateAttributesClass(field: string, spec: PersistentVolumeSpec): FieldError[] {
  const { volumeAttributesClassName: name, csi } = spec
  if (name === undefined) return []
  const errors =
    name === ''
      ? [required(`${field}.volumeAttributesClassName`, 'an empty string is disallowed')]
      : validateDnsSubdomain(`${field}.volumeAttributesClassName`, name)
  if (csi !== undefined) return errors
  return [...errors, required(`${field}.csi`, 'has to be specified when using volumeAttributesClassName')]
}
