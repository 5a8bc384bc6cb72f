/** Validation of the volume sources of a PersistentVolume. */
import { invalid, required, type FieldError } from '../../../field-error.ts'
import type { PersistentVolumeSpec, SecretReference } from '../../../generated/core/v1.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../../names.ts'
import {
  validateCsiDriverName,
  validateDnsLabel,
  validatePresent,
  validateRequiredName,
} from '../../validation/field-checks.ts'
import { validatePathNoBacksteps } from '../../validation/paths.ts'
import {
  validateAwsElasticBlockStore,
  validateAzureDisk,
  validateFibreChannel,
  validateFlexVolume,
  validateFlocker,
  validateGcePersistentDisk,
  validateHostPath,
  validateIscsi,
  validateNfs,
  validateQuobyte,
  validateTexts,
} from '../../pod/volume-source-validation.ts'

type Source<K extends keyof PersistentVolumeSpec> = NonNullable<PersistentVolumeSpec[K]>
type Sources = Omit<
  PersistentVolumeSpec,
  | 'accessModes'
  | 'capacity'
  | 'claimRef'
  | 'mountOptions'
  | 'nodeAffinity'
  | 'persistentVolumeReclaimPolicy'
  | 'storageClassName'
  | 'volumeAttributesClassName'
  | 'volumeMode'
>
export type SourceName = keyof Sources
type SourceCheck<S> = (field: string, source: S, volumeName: string) => FieldError[]

export interface SourceRule {
  readonly name: SourceName
  /** Field name in the error for more than one volume source. */
  readonly conflictName: string
  readonly validate: (field: string, spec: PersistentVolumeSpec, volumeName: string) => FieldError[]
}

function rule<K extends SourceName>(
  name: K,
  check: SourceCheck<Source<K>>,
  { path = name, conflictName = name }: { path?: string; conflictName?: string } = {},
): SourceRule {
  return {
    name,
    conflictName,
    validate(field, spec, volumeName) {
      const value = spec[name]
      return value === undefined || value === null ? [] : check(`${field}.${path}`, value, volumeName)
    },
  }
}

/** In order of precedence; names that differ from the field are those of Kubernetes' messages. */
export const sourceRules: readonly SourceRule[] = [
  rule('hostPath', validateHostPath),
  rule('gcePersistentDisk', validateGcePersistentDisk, { path: 'persistentDisk' }),
  rule('awsElasticBlockStore', validateAwsElasticBlockStore),
  rule('glusterfs', validateGlusterfs),
  rule('flocker', validateFlocker),
  rule('nfs', validateNfs),
  rule('rbd', validateTexts('monitors', 'image')),
  rule('quobyte', validateQuobyte),
  rule('cephfs', validateTexts('monitors'), { conflictName: 'cephFS' }),
  rule('iscsi', validatePersistentIscsi),
  rule('cinder', validateCinder),
  rule('fc', validateFibreChannel),
  rule('flexVolume', validateFlexVolume),
  rule('azureFile', validateAzureFile),
  rule('vsphereVolume', validateTexts('volumePath')),
  rule('photonPersistentDisk', validateTexts('pdID')),
  rule('portworxVolume', validateTexts('volumeID')),
  rule('azureDisk', validateAzureDisk),
  rule('scaleIO', validateTexts('gateway', 'system', 'volumeName')),
  rule('local', validateLocal),
  rule('storageos', validateStorageOs),
  rule('csi', validateCsi),
]

/** The volume source fields of the spec. */
export function sourceOf(spec: PersistentVolumeSpec): Sources {
  const given = sourceRules.filter(({ name }) => spec[name] !== undefined)
  return Object.fromEntries(given.map(({ name }) => [name, spec[name]]))
}

const mountable: readonly SourceName[] = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
]

/** True if the volume type supports the mount options annotation. */
export function hasMountOptions(spec: PersistentVolumeSpec): boolean {
  return mountable.some(name => spec[name] !== undefined)
}

function validateCsi(field: string, csi: Source<'csi'>): FieldError[] {
  const secrets = [
    'controllerPublishSecretRef',
    'controllerExpandSecretRef',
    'nodePublishSecretRef',
    'nodeExpandSecretRef',
  ] as const
  return [
    ...validateCsiDriverName(`${field}.driver`, csi.driver),
    ...validatePresent(`${field}.volumeHandle`, csi.volumeHandle),
    ...secrets.flatMap(name => validateSecretReference(`${field}.${name}`, csi[name])),
  ]
}

function validateSecretReference(field: string, secret: SecretReference | undefined): FieldError[] {
  if (secret === undefined) return []
  return [
    ...validateRequiredName(`${field}.name`, secret.name, checkDns1123Subdomain),
    ...validateRequiredName(`${field}.namespace`, secret.namespace, checkDns1123Label),
  ]
}

function validateSecretPresent(field: string, { name, namespace }: SecretReference): FieldError[] {
  return [...validatePresent(`${field}.name`, name), ...validatePresent(`${field}.namespace`, namespace)]
}

function validateGlusterfs(field: string, source: Source<'glusterfs'>): FieldError[] {
  const { endpointsNamespace: namespace } = source
  const errors = validateTexts('endpoints', 'path')(field, source)
  if (namespace === undefined) return errors
  if (namespace !== '') return [...errors, ...validateDnsLabel(`${field}.endpointsNamespace`, namespace)]
  const detail = 'if the endpointnamespace is set, it must be a valid namespace name'
  return [...errors, invalid(`${field}.endpointsNamespace`, namespace, detail)]
}

function validateCinder(field: string, { volumeID, secretRef }: Source<'cinder'>): FieldError[] {
  return [
    ...validatePresent(`${field}.volumeID`, volumeID),
    ...(secretRef ? validateSecretPresent(`${field}.secretRef`, secretRef) : []),
  ]
}

function validateAzureFile(field: string, source: Source<'azureFile'>): FieldError[] {
  return [
    ...validateTexts('secretName', 'shareName')(field, source),
    ...(source.secretNamespace === '' ? [required(`${field}.secretNamespace`, '')] : []),
  ]
}

function validateLocal(field: string, { path }: Source<'local'>): FieldError[] {
  return path ? validatePathNoBacksteps(`${field}.path`, path) : [required(`${field}.path`, '')]
}

const initiatorTextMax = 64

function validatePersistentIscsi(field: string, source: Source<'iscsi'>, volumeName: string): FieldError[] {
  const { targetPortal, initiatorName, secretRef } = source
  const errors = validateIscsi(field, source, { volume: { name: '' } })
  if (secretRef) errors.push(...validatePresent(`${field}.secretRef.name`, secretRef.name))
  if (initiatorName !== undefined && `${volumeName}:${targetPortal ?? ''}`.length > initiatorTextMax) {
    const detail =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if ' +
      'iscsi.initiatorName is specified.'
    errors.push(invalid(`${field}.targetportal`, targetPortal ?? '', detail))
  }
  return errors
}

function validateStorageOs(field: string, source: Source<'storageos'>): FieldError[] {
  const { volumeName, volumeNamespace, secretRef } = source
  return [
    ...validateRequiredName(`${field}.volumeName`, volumeName, checkDns1123Label),
    ...(volumeNamespace ? validateDnsLabel(`${field}.volumeNamespace`, volumeNamespace) : []),
    ...(secretRef ? validateSecretPresent(`${field}.secretRef`, secretRef) : []),
  ]
}
