/**
 * Rules and table columns of `autoscaling`.
 * https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { HorizontalPodAutoscaler } from '../../generated/autoscaling/v2.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { metricsText } from './metrics-text.ts'
import type { FieldError } from '../../field-error.ts'
import type { Scale } from '../../generated/autoscaling/v1.ts'
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

export const autoscalingRules: GroupRules = { HorizontalPodAutoscaler: horizontalPodAutoscaler, Scale: scale }

function validateScale({ spec = {} }: Scale): FieldError[] {
  return validateNonNegative('spec.replicas', spec.replicas)
}

const horizontalPodAutoscalerColumns: KindColumns<HorizontalPodAutoscaler> = {
  columns: [
    nameColumn,
    textColumn('Reference', 'Scale target.'),
    textColumn('Targets', 'Current and target metric values.'),
    textColumn('MinPods', 'Minimum number of replicas.'),
    textColumn('MaxPods', 'Maximum number of replicas.'),
    textColumn('Replicas', 'Current number of replicas.'),
    ageColumn,
  ],
  cells: (object: Unchecked<HorizontalPodAutoscaler>) => {
    const { spec = {}, status = {} } = object
    const { kind = '', name = '' } = spec.scaleTargetRef ?? {}
    return [
      nameOf(object),
      `${kind}/${name}`,
      metricsText(spec.metrics, status.currentMetrics),
      spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
      spec.maxReplicas ?? 0,
      status.currentReplicas ?? 0,
      ageOf(object),
    ]
  },
}

export const autoscalingColumns: GroupColumns = { HorizontalPodAutoscaler: horizontalPodAutoscalerColumns }
