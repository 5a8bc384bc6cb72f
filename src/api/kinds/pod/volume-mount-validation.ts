/** Validation of volume mounts and volume devices. */
import { enumValues } from '../../definitions.ts'
import { forbiddenField, invalid, notFoundField, notSupported, type FieldError } from '../../field-error.ts'
import type { Container, Volume, VolumeMount } from '../../generated/core/v1.ts'
import { validateOptionalChoice, validatePresent } from '../validation/field-checks.ts'
import { validateLocalDescendingPath, validatePathNoBacksteps } from '../validation/paths.ts'

/**
 * As in Kubernetes, errors about mount propagation and recursive read-only refer to the list, not to the
 * mount.
 */
export function validateVolumeMounts(
  field: string,
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
): FieldError[] {
  const { volumeMounts = [], volumeDevices = [], securityContext } = container
  const deviceNames = new Set(volumeDevices.map(device => device.name))
  const devicePaths = new Set(volumeDevices.map(device => device.devicePath))
  const seen = new Set<string>()
  return volumeMounts.flatMap((mount, index) => {
    const { name, mountPath } = mount
    const place = `${field}[${index}]`
    const errors = validatePresent(`${place}.name`, name)
    if (!volumes.has(name)) errors.push(notFoundField(`${place}.name`, name ?? ''))
    errors.push(...validatePresent(`${place}.mountPath`, mountPath))
    if (seen.has(mountPath)) errors.push(invalid(`${place}.mountPath`, mountPath, 'must be unique'))
    seen.add(mountPath)
    if (deviceNames.has(name)) {
      errors.push(invalid(`${place}.name`, name, 'must not already exist in volumeDevices'))
    }
    if (devicePaths.has(mountPath)) {
      errors.push(
        invalid(`${place}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'),
      )
    }
    return [
      ...errors,
      ...validateSubPaths(field, place, mount),
      ...validatePropagation(`${field}.mountPropagation`, mount, securityContext?.privileged === true),
      ...validateRecursiveReadOnly(`${field}.recursiveReadOnly`, mount),
    ]
  })
}

function validateSubPaths(field: string, place: string, { subPath, subPathExpr }: VolumeMount): FieldError[] {
  const errors = subPath ? validateLocalDescendingPath(`${field}.subPath`, subPath) : []
  if (!subPathExpr) return errors
  if (subPath) {
    errors.push(
      invalid(`${place}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'),
    )
  }
  return [...errors, ...validateLocalDescendingPath(`${field}.subPathExpr`, subPathExpr)]
}

function validatePropagation(
  field: string,
  { mountPropagation }: VolumeMount,
  isPrivileged: boolean,
): FieldError[] {
  const errors = validateOptionalChoice(field, mountPropagation, enumValues('core.MountPropagationMode'))
  if (mountPropagation !== 'Bidirectional' || isPrivileged) return errors
  return [forbiddenField(field, 'Bidirectional mount propagation is available only to privileged containers')]
}

function validateRecursiveReadOnly(field: string, mount: VolumeMount): FieldError[] {
  const { recursiveReadOnly: mode, readOnly, mountPropagation = 'None' } = mount
  if (mode === undefined || mode === 'Disabled') return []
  if (mode !== 'Enabled' && mode !== 'IfPossible') {
    return [notSupported(field, mode, ['Disabled', 'Enabled', 'IfPossible'])]
  }
  const errors: FieldError[] = []
  if (readOnly !== true) errors.push(forbiddenField(field, 'may only be specified when readOnly is true'))
  if (mountPropagation !== 'None') {
    errors.push(forbiddenField(field, 'may only be specified when mountPropagation is None or not specified'))
  }
  return errors
}

export function validateVolumeDevices(
  field: string,
  { volumeDevices = [], volumeMounts = [] }: Container,
  volumes: ReadonlyMap<string, Volume>,
): FieldError[] {
  const mountNames = new Set(volumeMounts.map(mount => mount.name))
  const mountPaths = new Set(volumeMounts.map(mount => mount.mountPath))
  const names = new Set<string>()
  const paths = new Set<string>()
  return volumeDevices.flatMap(({ name, ...device }, index) => {
    const devicePath = device.devicePath ?? ''
    const nameField = `${field}[${index}].name`
    const pathField = `${field}[${index}].devicePath`
    const volume = volumes.get(name)
    const errors = validatePresent(nameField, name)
    if (names.has(name)) errors.push(invalid(nameField, name, 'must be unique'))
    if (volume === undefined) errors.push(notFoundField(nameField, name ?? ''))
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      errors.push(invalid(nameField, name, onlyClaims))
    errors.push(...validatePresent(pathField, devicePath))
    if (paths.has(devicePath)) errors.push(invalid(pathField, devicePath, 'must be unique'))
    if (validatePathNoBacksteps(pathField, devicePath).length > 0) {
      errors.push(invalid(pathField, devicePath, "can not contain backsteps ('..')"))
    }
    if (mountNames.has(name)) errors.push(invalid(nameField, name, 'must not already exist in volumeMounts'))
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(pathField, devicePath, 'must not already exist as a path in volumeMounts'))
    }
    names.add(name)
    paths.add(devicePath)
    return errors
  })
}

const onlyClaims = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
