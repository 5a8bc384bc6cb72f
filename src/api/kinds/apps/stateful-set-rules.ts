/** Rules of StatefulSet. */
import { forbiddenField, invalid, required, type FieldError } from '../../field-error.ts'
import type {
  StatefulSet,
  StatefulSetSpec,
  StatefulSetStatus,
  StatefulSetUpdateStrategy,
} from '../../generated/apps/v1.ts'
import type { PersistentVolumeClaim, PodTemplateSpec, Volume } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { labelNames } from '../../names.ts'
import { validateDnsLabel, validateNonNegative, validateOptionalChoice } from '../validation/field-checks.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import {
  validateTemplateRestartsAlways,
  validatePodTemplate,
  validatePodTemplateMetadata,
  validateSelectorAndTemplate,
} from '../pod/pod-template-validation.ts'
import { warningsForTemplate } from '../pod/pod-warnings.ts'
import { validateCollisionCount, validateReplicaCounts } from '../validation/replica-counts.ts'
import { warningsForFractions } from '../pod/resource-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import {
  mapCopyOnWrite,
  withDefaults as withNonEmpty,
  withField,
  withMissing,
  withoutField,
} from '../../copy-on-write.ts'
import { validateVolumeClaimSpec } from '../pod/volume-claim-validation.ts'
import { withClaimSpecDefaults } from '../pod/volume-defaults.ts'

export const statefulSetRules: KindRules<StatefulSet> = {
  emptyObject: { spec: { replicas: 0 } },
  names: labelNames,
  tracksGeneration: true,
  withDefaults,
  prepareForCreate: object => ({ ...prepared(object), status: { replicas: 0, availableReplicas: 0 } }),
  prepareForUpdate: prepared,
  validate({ spec = {} }: { spec?: Partial<StatefulSetSpec> }) {
    const { serviceName, volumeClaimTemplates = [] } = spec
    return validateSpec('spec', spec, {
      claims: volumeClaimTemplates.flatMap((claim, index) => {
        return validateVolumeClaimSpec(`spec.volumeClaimTemplates[${index}].spec`, claim.spec ?? {})
      }),
      serviceName: serviceName ? validateDnsLabel('spec.serviceName', serviceName) : [],
    })
  },
  validateUpdate: (object, old) => [
    ...validateSpec('spec', object.spec ?? {}),
    ...validateChanges(object, old),
  ],
  validateStatusUpdate: (object, old) => validateStatus(object.status, old.status),
  warnings,
}

function withDefaults(object: StatefulSet): StatefulSet {
  return withField(object, 'spec', spec => {
    let result = withNonEmpty(spec, { podManagementPolicy: 'OrderedReady' })
    result = withMissing(result, {
      replicas: 1,
      revisionHistoryLimit: 10,
      updateStrategy: {},
      persistentVolumeClaimRetentionPolicy: {},
      template: {},
    })
    result = withField(result, 'template', withPodTemplateDefaults)
    result = withField(result, 'updateStrategy', withStrategyDefaults)
    result = withField(result, 'persistentVolumeClaimRetentionPolicy', policy => {
      return withNonEmpty(policy, { whenDeleted: 'Retain', whenScaled: 'Retain' })
    })
    return withField(result, 'volumeClaimTemplates', claims => mapCopyOnWrite(claims, withClaimDefaults))
  })
}

function withStrategyDefaults(strategy: StatefulSetUpdateStrategy): StatefulSetUpdateStrategy {
  const typed = strategy.type
    ? strategy
    : withMissing({ ...strategy, type: 'RollingUpdate' }, { rollingUpdate: {} })
  if (typed.type !== 'RollingUpdate') return typed
  return withField(typed, 'rollingUpdate', update => withMissing(update, { partition: 0 }))
}

function withClaimDefaults(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const complete = withMissing(claim, { metadata: {}, spec: {}, status: {} })
  const isNamed = complete.apiVersion === 'v1' && complete.kind === 'PersistentVolumeClaim'
  const named: PersistentVolumeClaim = isNamed
    ? complete
    : { ...complete, apiVersion: 'v1', kind: 'PersistentVolumeClaim' }
  const pending = withField(named, 'status', status => withNonEmpty(status, { phase: 'Pending' }))
  return withField(pending, 'spec', withClaimSpecDefaults)
}

/** Drops `rollingUpdate.maxUnavailable`, whose feature gate (MaxUnavailableStatefulSet) is off. */
function prepared(object: StatefulSet): StatefulSet {
  return withField(object, 'spec', spec => {
    const complete = withField(spec, 'template', prepareTemplate)
    return withField(complete, 'updateStrategy', strategy =>
      withField(strategy, 'rollingUpdate', update => {
        return withoutField(update, 'maxUnavailable')
      }),
    )
  })
}

/** Errors of immutable fields, which are validated only on creation. */
interface CreationErrors {
  readonly claims: readonly FieldError[]
  readonly serviceName: readonly FieldError[]
}

function validateSpec(
  field: string,
  spec: Partial<StatefulSetSpec>,
  creation: CreationErrors = { claims: [], serviceName: [] },
): FieldError[] {
  const { podManagementPolicy: management, persistentVolumeClaimRetentionPolicy: retention, selector } = spec
  const template = templateWithClaims(spec)
  const errors = validateUpdateStrategy(`${field}.updateStrategy`, spec.updateStrategy ?? {})
  if (!management) errors.unshift(required(`${field}.podManagementPolicy`, ''))
  else if (management !== 'OrderedReady' && management !== 'Parallel') {
    errors.unshift(
      invalid(`${field}.podManagementPolicy`, management, "must be 'OrderedReady' or 'Parallel'"),
    )
  }
  const retentionField = `${field}.persistentVolumeClaimRetentionPolicy`
  return [
    ...errors,
    ...validateOptionalChoice(`${retentionField}.whenDeleted`, retention?.whenDeleted, ['Retain', 'Delete']),
    ...validateOptionalChoice(`${retentionField}.whenScaled`, retention?.whenScaled, ['Retain', 'Delete']),
    ...creation.claims,
    ...validateNonNegative(`${field}.replicas`, spec.replicas),
    ...validateNonNegative(`${field}.minReadySeconds`, spec.minReadySeconds),
    ...validateNonNegative(`${field}.ordinals.start`, spec.ordinals?.start),
    ...creation.serviceName,
    ...validateSelectorAndTemplate(field, {
      selector,
      template,
      emptyDetail: 'empty selector is invalid for statefulset',
      invalidDetail: '',
      validateTemplate,
    }),
    ...validateTemplateRestartsAlways(`${field}.template`, template, 'StatefulSet'),
  ]
}

/** Kubernetes validates labels and annotations of the template twice, and clients see both errors. */
function validateTemplate(field: string, template: PodTemplateSpec): FieldError[] {
  return [...validatePodTemplate(field, template), ...validatePodTemplateMetadata(field, template)]
}

/**
 * The template as its pods will be: with volumes for the volume claim templates, and without hostname and
 * subdomain, which the controller sets.
 */
function templateWithClaims({
  template = {},
  volumeClaimTemplates = [],
}: Partial<StatefulSetSpec>): PodTemplateSpec {
  return withField(template, 'spec', spec => {
    const { hostname: _, subdomain: __, ...unnamed } = spec
    const claimed: Volume[] = volumeClaimTemplates.map(({ metadata }) => {
      const name = metadata.name ?? ''
      return { name, persistentVolumeClaim: { claimName: name } }
    })
    const names = new Set(claimed.map(volume => volume.name))
    const unclaimed = (spec.volumes ?? []).filter(volume => !names.has(volume.name))
    return {
      ...unnamed,
      volumes: [...new Map(claimed.map(volume => [volume.name, volume])).values(), ...unclaimed],
    }
  })
}

function validateUpdateStrategy(field: string, strategy: StatefulSetUpdateStrategy): FieldError[] {
  const { type, rollingUpdate } = strategy
  switch (type) {
    case undefined:
    case '':
      return [required(field, '')]
    case 'OnDelete':
      if (rollingUpdate === undefined) return []
      return [
        invalid(`${field}.rollingUpdate`, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'"),
      ]
    case 'RollingUpdate':
      return validateNonNegative(`${field}.rollingUpdate.partition`, rollingUpdate?.partition)
    default:
      return [invalid(field, strategy, "must be 'RollingUpdate' or 'OnDelete'")]
  }
}

const mutableFields = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const

/** Fields that would not affect existing pods and claims are immutable. */
function validateChanges({ spec }: StatefulSet, { spec: old }: StatefulSet): FieldError[] {
  const fixed = (['podManagementPolicy', 'selector', 'serviceName', 'volumeClaimTemplates'] as const).some(
    name => !semanticEqual(spec?.[name], old?.[name]),
  )
  const names = mutableFields.map(name => `'${name}'`)
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return fixed
    ? [forbiddenField('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)]
    : []
}

function validateStatus(
  status: StatefulSetStatus = { replicas: 0 },
  old: StatefulSetStatus = { replicas: 0 },
): FieldError[] {
  const parts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const
  return [
    ...validateReplicaCounts('status', status, { parts, readyName: 'status.readyReplicas' }),
    ...validateCollisionCount(status.collisionCount, old.collisionCount),
  ]
}

function warnings({ spec }: StatefulSet, old: StatefulSet | undefined): string[] {
  const isSame = old !== undefined && semanticEqual(spec, old.spec)
  const ofClaims = (spec?.volumeClaimTemplates ?? []).flatMap((claim, index) => {
    const field = `spec.volumeClaimTemplates[${index}]${old === undefined ? '' : '.Spec'}.resources`
    const { requests, limits } = claim.spec?.resources ?? {}
    return [
      ...warningsForFractions(`${field}.requests`, requests),
      ...warningsForFractions(`${field}.limits`, limits),
    ]
  })
  const history =
    (spec?.revisionHistoryLimit ?? 0) < 0
      ? [
          'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
        ]
      : []
  return [...(isSame ? [] : warningsForTemplate('spec.template', spec?.template)), ...ofClaims, ...history]
}
