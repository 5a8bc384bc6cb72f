/** Defaulting of HorizontalPodAutoscaler. */
import type * as v2 from '../../generated/autoscaling/v2.ts'
import type { KubernetesObject } from '../../metadata.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import { cpuMetric, defaultCpuUtilization } from './conversion.ts'

/**
 * Also called for v1 objects, which share these spec fields; their CPU metric is defaulted during conversion.
 */
export function withAutoscalerDefaults(object: v2.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  const spec = withMissing<Partial<v2.HorizontalPodAutoscalerSpec>>(object.spec ?? {}, { minReplicas: 1 })
  const limited = spec === object.spec ? object : { ...object, spec: spec as v2.HorizontalPodAutoscalerSpec }
  return isVersion1(object) ? limited : withMetricDefaults(limited)
}

function isVersion1(object: KubernetesObject): boolean {
  return object.apiVersion === 'autoscaling/v1'
}

function withMetricDefaults(object: v2.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  return withField(object, 'spec', spec => {
    const hasMetrics = (spec.metrics?.length ?? 0) > 0
    const measured = hasMetrics ? spec : { ...spec, metrics: [cpuMetric(defaultCpuUtilization)] }
    return withField(measured, 'behavior', withBehaviorDefaults)
  })
}

function withBehaviorDefaults(
  behavior: v2.HorizontalPodAutoscalerBehavior,
): v2.HorizontalPodAutoscalerBehavior {
  const filled = withMissing(behavior, { scaleUp: {}, scaleDown: {} })
  return withField(
    withField(filled, 'scaleUp', rules => withMissing(rules, scaleUp)),
    'scaleDown',
    rules => withMissing(rules, scaleDown),
  )
}

/** Every 15 seconds: by 100% or 4 pods, whichever is more. */
const scaleUp: v2.HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}

/** Every 15 seconds: by 100%; the stabilization window comes from the controller's configuration. */
const scaleDown: v2.HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
}
