/** Validation of pod volumes: each has a unique name and exactly one source. */
import {
  duplicate,
  forbiddenField,
  invalid,
  invalidEach,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { Volume } from '../../generated/core/v1.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import { quote } from '../../text/quote.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import { validateProjected } from './projected-volume-validation.ts'
import type { SpecContext, VolumeContext } from './validation-context.ts'
import { validateVolumeClaimTemplate } from './volume-claim-validation.ts'
import * as source from './volume-source-validation.ts'

export interface ValidatedVolumes {
  readonly errors: readonly FieldError[]
  /** Valid volumes by name. */
  readonly volumes: ReadonlyMap<string, Volume>
}

export function validateVolumes(
  field: string,
  list: readonly Volume[],
  context: SpecContext,
): ValidatedVolumes {
  const podName = context.pod?.name ?? ''
  const ownClaims = podName === '' ? [] : list.filter(volume => volume.ephemeral !== undefined)
  const ownClaimNames = new Set(ownClaims.map(volume => `${podName}-${volume.name}`))
  const volumes = new Map<string, Volume>()
  const errors: FieldError[] = []
  for (const [index, volume] of list.entries()) {
    const problems = validateVolume(`${field}[${index}]`, volume, context)
    if (volumes.has(volume.name)) problems.push(duplicate(`${field}[${index}].name`, volume.name))
    if (problems.length === 0) volumes.set(volume.name, volume)
    else errors.push(...problems)
    const claimName = volume.persistentVolumeClaim?.claimName ?? ''
    if (ownClaimNames.has(claimName)) {
      const detail = 'must not reference a PVC that gets created for an ephemeral volume'
      errors.push(invalid(`${field}[${index}].persistentVolumeClaim.claimName`, claimName, detail))
    }
  }
  return { errors, volumes }
}

function validateVolume(field: string, volume: Volume, context: SpecContext): FieldError[] {
  const errors: FieldError[] = []
  let found = 0
  for (const { name, conflictName, validate } of sources) {
    if (volume[name] === undefined) continue
    found++
    if (found > 1) {
      errors.push(forbiddenField(`${field}.${conflictName}`, 'may not specify more than 1 volume type'))
    } else errors.push(...validate(field, volume, context))
  }
  if (found === 0) errors.push(required(field, 'must specify a volume type'))
  return [...errors, ...validateRequiredName(`${field}.name`, volume.name, checkDns1123Label)]
}

interface Source {
  readonly name: keyof Volume
  /** Field name in the error for more than one source. */
  readonly conflictName: string
  readonly validate: (field: string, volume: Volume, context: SpecContext) => readonly FieldError[]
}

type SourceName = Exclude<keyof Volume, 'name'>
type SourceCheck<S> = (field: string, source: S, context: VolumeContext) => readonly FieldError[]

function rule<K extends SourceName>(
  name: K,
  check: SourceCheck<NonNullable<Volume[K]>>,
  { path = name, conflictName = name }: { path?: string; conflictName?: string } = {},
): Source {
  return {
    name,
    conflictName,
    validate(field, volume, context) {
      const value = volume[name]
      if (value === undefined || value === null) return []
      return check(`${field}.${path}`, value, { ...context, volume })
    },
  }
}

/** In order of precedence; names that differ from the field are those of Kubernetes' messages. */
const sources: readonly Source[] = [
  rule('emptyDir', source.validateEmptyDir),
  rule('hostPath', source.validateHostPath),
  rule('gitRepo', source.validateGitRepo),
  rule('gcePersistentDisk', source.validateGcePersistentDisk, { path: 'persistentDisk' }),
  rule('awsElasticBlockStore', source.validateAwsElasticBlockStore),
  rule('secret', source.validateSecret),
  rule('nfs', source.validateNfs),
  rule('iscsi', source.validateIscsi),
  rule('glusterfs', source.validateTexts('endpoints', 'path')),
  rule('flocker', source.validateFlocker),
  rule('persistentVolumeClaim', source.validateTexts('claimName')),
  rule('rbd', source.validateTexts('monitors', 'image')),
  rule('cinder', source.validateCinder),
  rule('cephfs', source.validateTexts('monitors'), { conflictName: 'cephFS' }),
  rule('quobyte', source.validateQuobyte),
  rule('downwardAPI', source.validateDownwardApi, { conflictName: 'downwarAPI' }),
  rule('fc', source.validateFibreChannel),
  rule('flexVolume', source.validateFlexVolume),
  rule('configMap', source.validateConfigMap),
  rule('azureFile', source.validateTexts('secretName', 'shareName')),
  rule('vsphereVolume', source.validateTexts('volumePath')),
  rule('photonPersistentDisk', source.validateTexts('pdID')),
  rule('portworxVolume', source.validateTexts('volumeID')),
  rule('azureDisk', source.validateAzureDisk),
  rule('storageos', source.validateStorageOs),
  rule('projected', validateProjected),
  rule('scaleIO', source.validateTexts('gateway', 'system', 'volumeName')),
  rule('csi', source.validateCsi),
  rule('ephemeral', validateEphemeral),
  rule('image', source.validateImage),
]

/** The name of the claim is composed of pod and volume name and must be valid. */
function validateEphemeral(
  field: string,
  { volumeClaimTemplate }: NonNullable<Volume['ephemeral']>,
  { pod, volume: { name: volumeName } }: VolumeContext,
): FieldError[] {
  const errors =
    volumeClaimTemplate === undefined
      ? [required(`${field}.volumeClaimTemplate`, '')]
      : validateVolumeClaimTemplate(`${field}.volumeClaimTemplate`, volumeClaimTemplate)
  if (!pod?.name || !volumeName) return errors
  const claimName = `${pod.name}-${volumeName}`
  const messages = checkDns1123Subdomain(claimName).map(message => `PVC name ${quote(claimName)}: ${message}`)
  return [...errors, ...invalidEach(field.replace(/\.ephemeral$/, '.name'), volumeName, messages)]
}
