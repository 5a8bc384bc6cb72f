import { merged, type Overlay } from '../overlay.ts'

export const autoscaling: Overlay = {
  quantities: [
    'HPAScalingRules.tolerance',
    'MetricTarget.averageValue',
    'MetricTarget.value',
    'MetricValueStatus.averageValue',
    'MetricValueStatus.value',
  ],
  atomic: ['v1/CrossVersionObjectReference'],
  merging: { 'v2/HorizontalPodAutoscalerStatus.conditions': merged('type') },
  resources: { horizontalpodautoscalers: { shortNames: ['hpa'], categories: ['all'] } },
}
