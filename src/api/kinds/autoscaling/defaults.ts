/** What an autoscaler does unless it says otherwise. */
import type * as v2 from '../../generated/autoscaling/v2.ts'
import type { KubernetesObject } from '../../metadata.ts'
import { withField, withMissing } from '../core/pod/structure-sharing.ts'
import { cpuMetric, defaultCpuUtilization } from './conversion.ts'

/**
 * The request may speak v1, which shares this much of the spec; its metric gets a default when it is
 * converted.
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

/** Doubling or four pods more, whichever is more, every fifteen seconds. */
const scaleUp: v2.HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}

/** Down to the minimum at once, after the window that the controller is configured with. */
const scaleDown: v2.HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
}
