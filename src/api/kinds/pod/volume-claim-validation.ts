/** Validation of claim specs: in a PersistentVolumeClaim, an ephemeral volume or a StatefulSet. */
import { enumValues } from '../../definitions.ts'
import {
  forbiddenField,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../../field-error.ts'
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
  TypedObjectReference,
} from '../../generated/core/v1.ts'
import { validateLabels } from '../../labels.ts'
import type { ObjectMeta } from '../../metadata.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import { validateAnnotations } from '../../validate-metadata.ts'
import { validateOptionalChoice, validatePresent } from '../validation/field-checks.ts'
import { quantityOf } from '../../core/resource-amounts.ts'
import { validateSelector } from '../validation/selectors.ts'

export function validateVolumeClaimSpec(field: string, spec: PersistentVolumeClaimSpec): FieldError[] {
  const { selector, storageClassName, volumeMode, volumeAttributesClassName } = spec
  return [
    ...validateAccessModes(`${field}.accessModes`, spec.accessModes ?? []),
    ...validateSelector(`${field}.selector`, selector),
    ...validateStorage(`${field}.resources[storage]`, spec.resources?.requests?.['storage']),
    ...validateClass(`${field}.storageClassName`, storageClassName),
    ...validateOptionalChoice(`${field}.volumeMode`, volumeMode, enumValues('core.PersistentVolumeMode')),
    ...validateDataSources(field, spec),
    ...validateClass(`${field}.volumeAttributesClassName`, volumeAttributesClassName),
  ]
}

export function validateVolumeClaimTemplate(
  field: string,
  template: PersistentVolumeClaimTemplate,
): FieldError[] {
  return [
    ...validateTemplateMetadata(`${field}.metadata`, template.metadata ?? {}),
    ...validateVolumeClaimSpec(`${field}.spec`, template.spec ?? {}),
  ]
}

const accessModes = enumValues('core.PersistentVolumeAccessMode')

function validateAccessModes(field: string, modes: readonly string[]): FieldError[] {
  if (modes.length === 0) return [required(field, 'at least 1 access mode is required')]
  const errors = modes
    .filter(mode => !accessModes.includes(mode))
    .map(mode => {
      return notSupported(field, mode, accessModes)
    })
  const isShared = modes.some(mode => mode !== 'ReadWriteOncePod' && accessModes.includes(mode))
  if (isShared && modes.includes('ReadWriteOncePod')) {
    errors.push(forbiddenField(field, 'may not use ReadWriteOncePod with other access modes'))
  }
  return errors
}

function validateStorage(field: string, amount: string | undefined): FieldError[] {
  if (amount === undefined) return [required(field, '')]
  return quantityOf(amount).nanos > 0n ? [] : [invalid(field, amount, 'must be greater than zero')]
}

function validateClass(field: string, name: string | undefined): FieldError[] {
  return name ? invalidEach(field, name, checkDns1123Subdomain(name)) : []
}

function validateDataSources(
  field: string,
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
): FieldError[] {
  const errors = [
    ...(dataSource ? validateDataSource(`${field}.dataSource`, dataSource) : []),
    ...(dataSourceRef ? validateDataSource(`${field}.dataSourceRef`, dataSourceRef) : []),
  ]
  if (!dataSource || !dataSourceRef) return errors
  const isSame =
    dataSource.kind === dataSourceRef.kind &&
    dataSource.name === dataSourceRef.name &&
    (dataSource.apiGroup ?? '') === (dataSourceRef.apiGroup ?? '')
  if (dataSourceRef.namespace) {
    const detail = 'may not be specified when dataSourceRef.namespace is specified'
    errors.push(invalid(field, `${field}.dataSource`, detail))
  } else if (!isSame) {
    errors.push(invalid(field, `${field}.dataSource`, 'must match dataSourceRef'))
  }
  return errors
}

function validateDataSource(
  field: string,
  source: Partial<TypedLocalObjectReference & TypedObjectReference>,
): FieldError[] {
  const { apiGroup = '', kind = '', namespace = '' } = source
  const errors = [...validatePresent(`${field}.name`, source.name), ...validatePresent(`${field}.kind`, kind)]
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
    errors.push(invalid(field, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
  }
  if (apiGroup !== '') {
    errors.push(...invalidEach(`${field}.apiGroup`, apiGroup, checkDns1123Subdomain(apiGroup)))
  }
  if (namespace !== '') {
    errors.push(...invalidEach(`${field}.namespace`, namespace, checkDns1123Label(namespace)))
  }
  return errors
}

/**
 * Only labels and annotations are allowed: name and owner of the claim follow from the pod and the volume.
 */
function validateTemplateMetadata(field: string, metadata: ObjectMeta): FieldError[] {
  const { annotations, labels, ...others } = metadata
  const refused = Object.entries(others).filter(([, value]) => {
    return value !== undefined && value !== '' && value !== 0
  })
  return [
    ...validateAnnotations(annotations ?? {}, `${field}.annotations`),
    ...validateLabels(`${field}.labels`, labels),
    ...refused.map(([name]) => forbiddenField(`${field}.${name}`, 'cannot be set')),
  ]
}
