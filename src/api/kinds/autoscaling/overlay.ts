/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, type Overlay } from '../overlay.ts'

export const autoscalingOverlay: Overlay = {
  quantities: [
    'HPAScalingRules.tolerance',
    'MetricTarget.averageValue',
    'MetricTarget.value',
    'MetricValueStatus.averageValue',
    'MetricValueStatus.value',
  ],
  atomic: ['v1/CrossVersionObjectReference'],
  merging: { 'v2/HorizontalPodAutoscalerStatus.conditions': merged('type') },
  spacedSentences: [
    'ContainerResourceMetricSource',
    'ContainerResourceMetricStatus',
    'HorizontalPodAutoscalerSpec.metrics',
    'HorizontalPodAutoscalerSpec.minReplicas',
    'HorizontalPodAutoscalerStatus.desiredReplicas',
    'MetricSpec.type',
    'MetricStatus.type',
    'ResourceMetricSource',
    'ResourceMetricStatus',
  ],
  resources: { horizontalpodautoscalers: { shortNames: ['hpa'], categories: ['all'] } },
  defaults: { 'v1/ScaleSpec.replicas': 0 },
  fieldNumbers: `
ContainerResourceMetricSource: name target container
ContainerResourceMetricStatus: name current container
CrossVersionObjectReference: kind name apiVersion
ExternalMetricSource: metric target
ExternalMetricStatus: metric current
HPAScalingPolicy: type value periodSeconds
HPAScalingRules: selectPolicy? policies? stabilizationWindowSeconds? tolerance?
HorizontalPodAutoscaler: metadata spec status
HorizontalPodAutoscalerBehavior: scaleUp? scaleDown?
HorizontalPodAutoscalerCondition: type status lastTransitionTime reason message
HorizontalPodAutoscalerList: metadata items
HorizontalPodAutoscalerSpec: scaleTargetRef minReplicas? maxReplicas metrics behavior?
v1/HorizontalPodAutoscalerSpec: scaleTargetRef minReplicas? maxReplicas targetCPUUtilizationPercentage?
HorizontalPodAutoscalerStatus: observedGeneration? lastScaleTime? currentReplicas desiredReplicas
  currentMetrics! conditions
v1/HorizontalPodAutoscalerStatus: observedGeneration? lastScaleTime? currentReplicas desiredReplicas
  currentCPUUtilizationPercentage?
MetricIdentifier: name selector?
MetricSpec: type object? pods? resource? external? 7:containerResource?
MetricStatus: type object? pods? resource? external? 7:containerResource?
MetricTarget: type value? averageValue? averageUtilization?
MetricValueStatus: value? averageValue? averageUtilization?
ObjectMetricSource: describedObject target metric
ObjectMetricStatus: metric current describedObject
PodsMetricSource: metric target
PodsMetricStatus: metric current
ResourceMetricSource: name target
ResourceMetricStatus: name current
Scale: metadata spec status
ScaleSpec: replicas
ScaleStatus: replicas selector
`,
}
