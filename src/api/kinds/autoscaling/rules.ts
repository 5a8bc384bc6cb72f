/**
 * Rules of HorizontalPodAutoscaler and Scale.
 * https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 */
import type { FieldError } from '../../field-error.ts'
import type { Scale } from '../../generated/autoscaling/v1.ts'
import type { HorizontalPodAutoscaler } from '../../generated/autoscaling/v2.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { withoutRoundTripAnnotations } from './conversion.ts'
import { withAutoscalerDefaults } from './defaults.ts'
import { validateAutoscaler, validateAutoscalerStatus, validateAutoscalerUpdate } from './validation.ts'

/** Defaulting runs in the version of the request, everything else in v2, the storage version. */
const horizontalPodAutoscaler: KindRules<HorizontalPodAutoscaler> = {
  withDefaults: withAutoscalerDefaults,
  prepareForCreate: withoutRoundTripAnnotations,
  prepareForUpdate: withoutRoundTripAnnotations,
  prepareForStatusUpdate: withoutRoundTripAnnotations,
  validate: validateAutoscaler,
  validateUpdate: validateAutoscalerUpdate,
  validateStatusUpdate: validateAutoscalerStatus,
}

const scale: KindRules<Scale> = { validate: validateScale, validateUpdate: validateScale }

export const autoscaling: GroupRules = { HorizontalPodAutoscaler: horizontalPodAutoscaler, Scale: scale }

function validateScale({ spec = {} }: Scale): FieldError[] {
  return validateNonNegative('spec.replicas', spec.replicas)
}
