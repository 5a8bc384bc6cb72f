/** Table columns for `autoscaling`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { HorizontalPodAutoscaler } from '../../generated/autoscaling/v2.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { metricsText } from './metrics-text.ts'

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
  cells: (object: Unchecked<HorizontalPodAutoscaler>, nowMs) => {
    const { spec = {}, status = {} } = object
    const { kind = '', name = '' } = spec.scaleTargetRef ?? {}
    return [
      nameOf(object),
      `${kind}/${name}`,
      metricsText(spec.metrics, status.currentMetrics),
      spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
      spec.maxReplicas ?? 0,
      status.currentReplicas ?? 0,
      ageOf(object, nowMs),
    ]
  },
}

export const autoscalingColumns: GroupColumns = { HorizontalPodAutoscaler: horizontalPodAutoscalerColumns }
