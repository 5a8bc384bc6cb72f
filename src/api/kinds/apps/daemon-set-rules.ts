/** Rules of DaemonSet. */
import { invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  DaemonSet,
  DaemonSetSpec,
  DaemonSetStatus,
  DaemonSetUpdateStrategy,
  RollingUpdateDaemonSet,
} from '../../generated/apps/v1.ts'
import type { PodTemplateSpec } from '../../generated/core/v1.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { parseInt64 } from '../../text/int64.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withPodTemplateDefaults } from '../pod/pod-defaults.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import {
  validateTemplateRestartsAlways,
  isEmptySelector,
  validatePodTemplate,
  validateSelectorMatchesTemplate,
} from '../pod/pod-template-validation.ts'
import { warningsForTemplate } from '../pod/pod-warnings.ts'
import { validateCollisionCount } from '../validation/replica-counts.ts'
import { validateSelector } from '../validation/selectors.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults as withNonEmpty, withField, withMissing } from '../../copy-on-write.ts'
import { isZero, validatePositiveIntOrPercent, validateNotMoreThan100Percent } from './rolling-update.ts'
import { validateSelectorUnchanged } from './replicas-validation.ts'

/** Annotation that stores the template generation, formerly the spec field `templateGeneration`. */
const templateGenerationKey = 'deprecated.daemonset.template.generation'

export const daemonSetRules: KindRules<DaemonSet> = {
  tracksGeneration: true,
  conversionAnnotations: [templateGenerationKey],
  emptyObject: { annotations: { [templateGenerationKey]: '0' } },
  withDefaults,
  prepareForCreate: object => {
    const generation = Math.max(templateGenerationOf(object), 1)
    return { ...withTemplateGeneration(withPreparedTemplate(object), generation), status: emptyStatus }
  },
  prepareForUpdate(object, old) {
    const prepared = withPreparedTemplate(object)
    const isSame = semanticEqual(prepared.spec?.template, old.spec?.template)
    return withTemplateGeneration(prepared, templateGenerationOf(old) + (isSame ? 0 : 1))
  },
  validate: object => validateSpec('spec', object.spec ?? {}),
  validateUpdate: (object, old) => [
    ...validateSelectorUnchanged(object.spec?.selector, old.spec?.selector),
    ...validateSpec('spec', object.spec ?? {}),
  ],
  prepareForStatusUpdate: (object, old) => withTemplateGeneration(object, templateGenerationOf(old)),
  validateStatusUpdate: (object, old) => validateStatus(object.status, old.status),
  warnings(object, old) {
    const isSame = old !== undefined && semanticEqual(object.spec?.template, old.spec?.template)
    return isSame ? [] : warningsForTemplate('spec.template', object.spec?.template)
  },
}

const emptyStatus: DaemonSetStatus = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
}

function templateGenerationOf({ metadata }: DaemonSet): number {
  const generation = parseInt64(metadata.annotations?.[templateGenerationKey] ?? '0')
  return typeof generation === 'number' ? generation : 0
}

function withTemplateGeneration(object: DaemonSet, generation: number): DaemonSet {
  const { annotations } = object.metadata
  if (annotations?.[templateGenerationKey] === String(generation)) return object
  const counted = { ...annotations, [templateGenerationKey]: String(generation) }
  return { ...object, metadata: { ...object.metadata, annotations: counted } }
}

/** Every DaemonSet has the annotation; its value is set when the object is prepared. */
function withDefaults(object: DaemonSet): DaemonSet {
  const hasGeneration = object.metadata.annotations?.[templateGenerationKey] !== undefined
  return withSpecDefaults(hasGeneration ? object : withTemplateGeneration(object, 0))
}

function withSpecDefaults(object: DaemonSet): DaemonSet {
  return withField(object, 'spec', spec => {
    const complete = withMissing(spec, { revisionHistoryLimit: 10, updateStrategy: {}, template: {} })
    return withField(withField(complete, 'template', withPodTemplateDefaults), 'updateStrategy', strategy => {
      const typed = withNonEmpty(strategy, { type: 'RollingUpdate' })
      if (typed.type !== 'RollingUpdate') return typed
      return withField(withMissing(typed, { rollingUpdate: {} }), 'rollingUpdate', update => {
        return withMissing(update, { maxUnavailable: 1, maxSurge: 0 })
      })
    })
  })
}

function withPreparedTemplate(object: DaemonSet): DaemonSet {
  return withField(object, 'spec', spec => withField(spec, 'template', prepareTemplate))
}

function validateSpec(field: string, spec: Partial<DaemonSetSpec>): FieldError[] {
  const { selector, template = {}, updateStrategy = {}, minReadySeconds, revisionHistoryLimit } = spec
  return [
    ...validateDaemonSelector(field, selector, template),
    ...validatePodTemplate(`${field}.template`, template),
    ...validateTemplateRestartsAlways(`${field}.template`, template, 'DaemonSet'),
    ...validateNonNegative(`${field}.minReadySeconds`, minReadySeconds),
    ...validateUpdateStrategy(`${field}.updateStrategy`, updateStrategy),
    ...validateNonNegative(`${field}.revisionHistoryLimit`, revisionHistoryLimit),
  ]
}

/** Unlike in other workloads, an invalid selector does not prevent the validation of the template. */
function validateDaemonSelector(
  field: string,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec,
): FieldError[] {
  const place = `${field}.selector`
  const faults = validateSelector(place, selector)
  if (faults.length > 0) return faults
  const errors = validateSelectorMatchesTemplate(field, selector, template)
  if (selector === undefined || !isEmptySelector(selector)) return errors
  return [...errors, invalid(place, selector, 'empty selector is invalid for daemonset')]
}

function validateUpdateStrategy(field: string, strategy: DaemonSetUpdateStrategy): FieldError[] {
  const { type, rollingUpdate } = strategy
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate') return [notSupported(field, strategy, ['RollingUpdate', 'OnDelete'])]
  return rollingUpdate === undefined
    ? [required(`${field}.rollingUpdate`, '')]
    : validateRollingUpdate(`${field}.rollingUpdate`, rollingUpdate)
}

/** Exactly one of `maxUnavailable` and `maxSurge` must be non-zero. */
function validateRollingUpdate(field: string, update: RollingUpdateDaemonSet): FieldError[] {
  const { maxUnavailable = 0, maxSurge = 0 } = update
  const errors = [
    ...validatePositiveIntOrPercent(`${field}.maxUnavailable`, maxUnavailable),
    ...validatePositiveIntOrPercent(`${field}.maxSurge`, maxSurge),
    ...validateNotMoreThan100Percent(`${field}.maxUnavailable`, maxUnavailable),
    ...validateNotMoreThan100Percent(`${field}.maxSurge`, maxSurge),
  ]
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    errors.push(required(`${field}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
  } else if (!isZero(maxUnavailable) && !isZero(maxSurge)) {
    errors.push(invalid(`${field}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'))
  }
  return errors
}

const counts = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
] as const

function validateStatus(
  status: DaemonSetStatus = emptyStatus,
  old: DaemonSetStatus = emptyStatus,
): FieldError[] {
  return [
    ...counts.flatMap(name => validateNonNegative(`status.${name}`, status[name])),
    ...validateCollisionCount(status.collisionCount, old.collisionCount),
  ]
}
