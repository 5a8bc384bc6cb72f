/** Validation of the volume sources of pods. */
import { enumValues } from '../../definitions.ts'
import {
  forbiddenField,
  invalid,
  notSupported,
  required,
  tooLong,
  type FieldError,
} from '../../field-error.ts'
import type { DownwardAPIVolumeFile, Volume } from '../../generated/core/v1.ts'
import { checkDns1123Label, checkDns1123Subdomain, checkInRange } from '../../names.ts'
import { validateFieldSelector, validateResourceSelector } from './downward-api.ts'
import {
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validateOptionalChoice,
  validatePresent,
  validateRequiredName,
} from '../validation/field-checks.ts'
import {
  validateLocalDescendingPath,
  validateFileMode,
  validateKeyPaths,
  validatePathNoBacksteps,
  validateLocalNonReservedPath,
} from '../validation/paths.ts'
import { quantityOf } from '../../core/resource-amounts.ts'
import type { SpecContext, VolumeContext } from './validation-context.ts'

/** Required fields may still be missing. */
type Source<K extends keyof Volume> = Partial<NonNullable<Volume[K]>>

/** Validates a source for which only these strings and lists are required. */
export function validateTexts<K extends string>(
  ...names: readonly K[]
): (field: string, source: Readonly<Partial<Record<K, string | readonly string[]>>>) => FieldError[] {
  return (field, source) => names.flatMap(name => validatePresent(`${field}.${name}`, source[name]))
}

export function validateEmptyDir(field: string, { sizeLimit }: Source<'emptyDir'>): FieldError[] {
  if (sizeLimit === undefined || quantityOf(sizeLimit).nanos >= 0n) return []
  return [forbiddenField(`${field}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
}

const hostPathTypes = enumValues('core.HostPathType')

export function validateHostPath(field: string, { path, type }: Source<'hostPath'>): FieldError[] {
  if (!path) return [required(`${field}.path`, '')]
  return [
    ...validatePathNoBacksteps(`${field}.path`, path),
    ...validateOptionalChoice(`${field}.type`, type, hostPathTypes),
  ]
}

export function validateGitRepo(field: string, { repository, directory }: Source<'gitRepo'>): FieldError[] {
  return [
    ...validatePresent(`${field}.repository`, repository),
    ...validateLocalDescendingPath(`${field}.directory`, directory ?? ''),
  ]
}

export function validateGcePersistentDisk(
  field: string,
  { pdName, partition }: Source<'gcePersistentDisk'>,
): FieldError[] {
  return [
    ...validatePresent(`${field}.pdName`, pdName),
    ...validatePartition(`${field}.partition`, partition),
  ]
}

export function validateAwsElasticBlockStore(
  field: string,
  { volumeID, partition }: Source<'awsElasticBlockStore'>,
): FieldError[] {
  return [
    ...validatePresent(`${field}.volumeID`, volumeID),
    ...validatePartition(`${field}.partition`, partition),
  ]
}

export function validateSecret(
  field: string,
  { secretName, defaultMode, items }: Source<'secret'>,
): FieldError[] {
  return [
    ...validatePresent(`${field}.secretName`, secretName),
    ...validateFileMode(`${field}.defaultMode`, defaultMode),
    ...validateKeyPaths(`${field}.items`, items),
  ]
}

export function validateConfigMap(
  field: string,
  { name, defaultMode, items }: Source<'configMap'>,
): FieldError[] {
  return [
    ...validatePresent(`${field}.name`, name),
    ...validateFileMode(`${field}.defaultMode`, defaultMode),
    ...validateKeyPaths(`${field}.items`, items),
  ]
}

export function validateNfs(field: string, { server, path }: Source<'nfs'>): FieldError[] {
  const errors = [...validatePresent(`${field}.server`, server), ...validatePresent(`${field}.path`, path)]
  const isAbsolute = (path ?? '').startsWith('/')
  return isAbsolute ? errors : [...errors, invalid(`${field}.path`, path ?? '', 'must be an absolute path')]
}

export function validateIscsi(
  field: string,
  iscsi: Source<'iscsi'>,
  { volume }: VolumeContext,
): FieldError[] {
  const { targetPortal = '', iqn = '', lun = 0, initiatorName } = iscsi
  const errors = [
    ...validatePresent(`${field}.targetPortal`, targetPortal),
    ...(iqn === '' ? [required(`${field}.iqn`, '')] : validateIscsiName(`${field}.iqn`, iqn)),
    ...validateLun(`${field}.lun`, lun),
  ]
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && iscsi.secretRef === undefined) {
    errors.push(required(`${field}.secretRef`, ''))
  }
  if (initiatorName === undefined) return errors
  errors.push(...validateIscsiName(`${field}.initiatorname`, initiatorName))
  if (`${volume.name}:${targetPortal}`.length > initiatorTextMax) {
    const detail =
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if ' +
      'iscsi.initiatorName is specified.'
    errors.push(invalid(field.replace(/\.iscsi$/, '.name'), volume.name, detail))
  }
  return errors
}

const initiatorTextMax = 64
/** The three name formats of RFC 3720. */
const iscsiNames: ReadonlyMap<string, RegExp> = new Map([
  ['iqn', /^iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+$/],
  ['eui', /^eui.[A-Za-z0-9]{16}$/],
  ['naa', /^naa.[A-Za-z0-9]{32}$/],
])

function validateIscsiName(field: string, name: string): FieldError[] {
  const form = iscsiNames.get(name.slice(0, 3))
  if (form === undefined) return [invalid(field, name, 'must be valid format starting with iqn, eui, or naa')]
  return form.test(name) ? [] : [invalid(field, name, 'must be valid format')]
}

export function validateFlocker(
  field: string,
  { datasetName = '', datasetUUID = '' }: Source<'flocker'>,
): FieldError[] {
  const errors: FieldError[] = []
  if (datasetName === '' && datasetUUID === '') {
    errors.push(required(field, 'one of datasetName and datasetUUID is required'))
  }
  if (datasetName !== '' && datasetUUID !== '') {
    errors.push(invalid(field, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'))
  }
  if (datasetName.includes('/')) {
    errors.push(invalid(`${field}.datasetName`, datasetName, "must not contain '/'"))
  }
  return errors
}

export function validateCinder(field: string, { volumeID, secretRef }: Source<'cinder'>): FieldError[] {
  return [
    ...validatePresent(`${field}.volumeID`, volumeID),
    ...(secretRef ? validatePresent(`${field}.secretRef.name`, secretRef.name) : []),
  ]
}

export function validateQuobyte(
  field: string,
  { registry = '', tenant = '', volume }: Source<'quobyte'>,
): FieldError[] {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas'
  const errors: FieldError[] = []
  if (registry === '') errors.push(required(`${field}.registry`, pairs))
  else if (tenant.length > 64) {
    errors.push(required(`${field}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'))
  } else if (!registry.split(',').every(pair => /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))) {
    errors.push(invalid(`${field}.registry`, registry, pairs))
  }
  return [...errors, ...validatePresent(`${field}.volume`, volume)]
}

export function validateDownwardApi(
  field: string,
  { defaultMode, items }: Source<'downwardAPI'>,
): FieldError[] {
  return [
    ...validateFileMode(`${field}.defaultMode`, defaultMode),
    ...(items ?? []).flatMap(file => validateDownwardApiFile(field, file)),
  ]
}

const fileFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

/** `field` is the list: Kubernetes' errors do not include the index. */
export function validateDownwardApiFile(field: string, file: DownwardAPIVolumeFile): FieldError[] {
  const { path, fieldRef, resourceFieldRef, mode } = file
  const errors = [
    ...validatePresent(`${field}.path`, path),
    ...validateLocalNonReservedPath(`${field}.path`, path ?? ''),
  ]
  if (fieldRef !== undefined) {
    errors.push(...validateFieldSelector(`${field}.fieldRef`, fieldRef, fileFields))
    if (resourceFieldRef !== undefined) {
      errors.push(
        invalid(field, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'),
      )
    }
  } else if (resourceFieldRef !== undefined) {
    const needed = resourceFieldRef.containerName
      ? []
      : [required(`${field}.resourceFieldRef.containerName`, '')]
    errors.push(...needed, ...validateResourceSelector(`${field}.resourceFieldRef`, resourceFieldRef))
  } else {
    errors.push(required(field, 'one of fieldRef and resourceFieldRef is required'))
  }
  return [...errors, ...validateFileMode(`${field}.mode`, mode)]
}

export function validateFibreChannel(
  field: string,
  { targetWWNs = [], wwids = [], lun }: Source<'fc'>,
): FieldError[] {
  const errors: FieldError[] = []
  if (targetWWNs.length === 0 && wwids.length === 0) {
    errors.push(required(`${field}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both'))
  }
  if (targetWWNs.length === 0) return errors
  if (wwids.length > 0) {
    const detail = 'targetWWNs and wwids can not be specified simultaneously'
    errors.push(invalid(`${field}.targetWWNs`, targetWWNs, detail))
  }
  if (lun === undefined) {
    return [...errors, required(`${field}.lun`, 'lun is required if targetWWNs is specified')]
  }
  return [...errors, ...validateLun(`${field}.lun`, lun)]
}

export function validateFlexVolume(field: string, { driver, options }: Source<'flexVolume'>): FieldError[] {
  const reserved = Object.keys(options ?? {}).filter(name => {
    return /(?:^|\.)(?:kubernetes|k8s)\.io$/i.test(name.split('/', 1)[0] ?? '')
  })
  return [
    ...validatePresent(`${field}.driver`, driver),
    ...reserved.map(name => {
      return invalid(`${field}.options[${name}]`, name, 'kubernetes.io and k8s.io namespaces are reserved')
    }),
  ]
}

export function validateAzureDisk(field: string, azure: Source<'azureDisk'>): FieldError[] {
  const { diskName, diskURI = '', cachingMode, kind } = azure
  const errors = [
    ...validatePresent(`${field}.diskName`, diskName),
    ...validatePresent(`${field}.diskURI`, diskURI),
    ...validateOptionalChoice(
      `${field}.cachingMode`,
      cachingMode,
      enumValues('core.AzureDataDiskCachingMode'),
    ),
    ...validateOptionalChoice(`${field}.kind`, kind, enumValues('core.AzureDataDiskKind')),
  ]
  const expected = kind === 'Managed' ? managedDisk : blobDisk
  const isExpected =
    kind === undefined || diskURI.startsWith(kind === 'Managed' ? '/subscriptions/' : 'https://')
  return isExpected ? errors : [...errors, notSupported(`${field}.diskURI`, diskURI, [expected])]
}

const managedDisk =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const blobDisk = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

export function validateStorageOs(field: string, storage: Source<'storageos'>): FieldError[] {
  const { volumeName, volumeNamespace, secretRef } = storage
  return [
    ...validateRequiredName(`${field}.volumeName`, volumeName, checkDns1123Label),
    ...(volumeNamespace ? validateDnsLabel(`${field}.volumeNamespace`, volumeNamespace) : []),
    ...(secretRef ? validatePresent(`${field}.secretRef.name`, secretRef.name) : []),
  ]
}

const driverNameMax = 63

export function validateCsi(
  field: string,
  { driver = '', nodePublishSecretRef }: Source<'csi'>,
): FieldError[] {
  const errors = validateRequiredName(`${field}.driver`, driver, name =>
    checkDns1123Subdomain(name.toLowerCase()),
  )
  if (driver.length > driverNameMax) errors.unshift(tooLong(`${field}.driver`, driverNameMax))
  if (nodePublishSecretRef === undefined) return errors
  const { name = '' } = nodePublishSecretRef
  if (name === '') return [...errors, required(`${field}.nodePublishSecretRef.name`, '')]
  return [...errors, ...validateDnsSubdomain(`${field}.name`, name)]
}

/** A template may omit the reference, to be set by the controller. */
export function validateImage(
  field: string,
  { reference, pullPolicy }: Source<'image'>,
  { pod }: SpecContext,
): FieldError[] {
  return [
    ...(pod ? validatePresent(`${field}.reference`, reference) : []),
    ...validateChoice(`${field}.pullPolicy`, pullPolicy, enumValues('core.PullPolicy')),
  ]
}

function validatePartition(field: string, partition = 0): FieldError[] {
  return partition >= 0 && partition <= 255
    ? []
    : [invalid(field, partition, 'must be between 1 and 255, inclusive')]
}

function validateLun(field: string, lun: number): FieldError[] {
  return checkInRange(lun, 0, 255).map(message => invalid(field, lun, message))
}
