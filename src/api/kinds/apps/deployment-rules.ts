/** Rules of Deployment. */
import { enumValues } from '../../definitions.ts'
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  Deployment,
  DeploymentSpec,
  DeploymentStatus,
  DeploymentStrategy,
  RollingUpdateDeployment,
} from '../../generated/apps/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { namesOfPods, warningsForName, warningsForTemplate } from '../pod/pod-warnings.ts'
import { validateCollisionCount, validateReplicaCounts } from '../validation/replica-counts.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults as withNonEmpty, withField, withMissing } from '../../copy-on-write.ts'
import { isZero, validatePositiveIntOrPercent, validateNotMoreThan100Percent } from './rolling-update.ts'
import { validateReplicaTemplate, validateSelectorUnchanged } from './replicas-validation.ts'

export const deploymentRules: KindRules<Deployment> = {
  emptyObject: { spec: { replicas: 0 } },
  tracksGeneration: true,
  generationCounts: 'annotations',
  resetFields: { status: [['spec'], ['metadata', 'labels']] },
  withDefaults,
  prepareForCreate: object => ({ ...withPreparedTemplate(object), status: {} }),
  prepareForUpdate: withPreparedTemplate,
  validate: object => validateSpec('spec', object.spec ?? {}),
  validateUpdate: (object, old) => [
    ...validateSpec('spec', object.spec ?? {}),
    ...validateSelectorUnchanged(object.spec?.selector, old.spec?.selector),
  ],
  prepareForStatusUpdate: (object, old) => {
    const { labels } = old.metadata
    const { labels: _, ...metadata } = object.metadata
    return { ...object, metadata: { ...metadata, ...(labels && { labels }) } }
  },
  validateStatusUpdate: (object, old) => validateStatus(object.status ?? {}, old.status ?? {}),
  warnings(object, old) {
    if (old !== undefined && semanticEqual(object.spec, old.spec)) return []
    const ofName = old === undefined ? warningsForName(object.metadata.name, namesOfPods) : []
    return [...ofName, ...warningsForTemplate('spec.template', object.spec?.template)]
  },
}

function withDefaults(object: Deployment): Deployment {
  return withField(object, 'spec', spec => {
    const counts = {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: {},
      template: {},
    }
    const complete = withField(withMissing(spec, counts), 'template', withPodTemplateDefaults)
    return withField(complete, 'strategy', strategy => {
      const typed = withNonEmpty(strategy, { type: 'RollingUpdate' })
      if (typed.type !== 'RollingUpdate') return typed
      return withField(withMissing(typed, { rollingUpdate: {} }), 'rollingUpdate', update => {
        return withMissing(update, { maxUnavailable: '25%', maxSurge: '25%' })
      })
    })
  })
}

function withPreparedTemplate(object: Deployment): Deployment {
  return withField(object, 'spec', spec => withField(spec, 'template', prepareTemplate))
}

function validateSpec(field: string, spec: Partial<DeploymentSpec>): FieldError[] {
  const { minReadySeconds = 0, progressDeadlineSeconds: deadline, revisionHistoryLimit, strategy = {} } = spec
  const errors = [
    ...validateNonNegative(`${field}.replicas`, spec.replicas),
    ...validateReplicaTemplate(field, spec),
    ...validateStrategy(`${field}.strategy`, strategy),
    ...validateNonNegative(`${field}.minReadySeconds`, minReadySeconds),
    ...validateNonNegative(`${field}.revisionHistoryLimit`, revisionHistoryLimit),
    ...validateNonNegative(`${field}.progressDeadlineSeconds`, deadline),
  ]
  if (deadline === undefined || deadline > minReadySeconds) return errors
  return [
    ...errors,
    invalid(`${field}.progressDeadlineSeconds`, deadline, 'must be greater than minReadySeconds'),
  ]
}

function validateStrategy(field: string, strategy: DeploymentStrategy): FieldError[] {
  const { type, rollingUpdate } = strategy
  if (type === 'Recreate') {
    if (rollingUpdate === undefined) return []
    return [
      forbiddenField(`${field}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'"),
    ]
  }
  if (type !== 'RollingUpdate')
    return [notSupported(field, strategy, enumValues('apps.DeploymentStrategyType'))]
  if (rollingUpdate === undefined) {
    return [required(`${field}.rollingUpdate`, 'this should be defaulted and never be nil')]
  }
  return validateRollingUpdate(`${field}.rollingUpdate`, rollingUpdate)
}

function validateRollingUpdate(field: string, update: RollingUpdateDeployment): FieldError[] {
  const { maxUnavailable = 0, maxSurge = 0 } = update
  const errors = [
    ...validatePositiveIntOrPercent(`${field}.maxUnavailable`, maxUnavailable),
    ...validatePositiveIntOrPercent(`${field}.maxSurge`, maxSurge),
  ]
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    errors.push(invalid(`${field}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'))
  }
  return [...errors, ...validateNotMoreThan100Percent(`${field}.maxUnavailable`, maxUnavailable)]
}

function validateStatus(status: DeploymentStatus, old: DeploymentStatus): FieldError[] {
  return [
    ...validateReplicaCounts('status', status, {
      parts: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
    }),
    ...validateNonNegative('status.unavailableReplicas', status.unavailableReplicas),
    ...validateNonNegative('status.terminatingReplicas', status.terminatingReplicas),
    ...validateCollisionCount(status.collisionCount, old.collisionCount),
  ]
}
