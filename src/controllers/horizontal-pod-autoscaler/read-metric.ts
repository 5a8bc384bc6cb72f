import { messageOf } from '#/base/message-of.ts'
import type { MetricIdentifier, MetricSpec } from '#/api/generated/autoscaling/v2.ts'
import { compileLabelSelector, everything, type Selector } from '#/api/selectors/selector.ts'
import type { Metrics } from './metrics.ts'
import type { MetricReading } from './proposal.ts'

/**
 * Reads the current value of a metric. A failure is returned as a reading, since other metrics may succeed.
 */
export async function readMetric(
  metrics: Metrics,
  { resource, containerResource, pods, object, external }: MetricSpec,
  of: { readonly namespace: string; readonly selector: Selector; readonly signal: AbortSignal },
): Promise<MetricReading> {
  try {
    if (resource) return { samples: await metrics.resource({ ...of, resource: resource.name }) }
    if (containerResource) {
      const { name, container } = containerResource
      return { samples: await metrics.resource({ ...of, resource: name, container }) }
    }
    if (pods) return { samples: await metrics.pods({ ...of, ...identified(pods.metric) }) }
    if (object) {
      const { describedObject, metric } = object
      return { milliValue: await metrics.object({ ...of, ...identified(metric), object: describedObject }) }
    }
    if (external) {
      const values = await metrics.external({ ...of, ...identified(external.metric) })
      return { milliValue: values.reduce((sum, value) => sum + value, 0n) }
    }
    return { failure: 'no source' }
  } catch (error) {
    return { failure: messageOf(error) }
  }
}

/** Without a selector all series match. */
function identified({ name, selector }: MetricIdentifier): {
  readonly metric: string
  readonly metricSelector: Selector
} {
  return { metric: name, metricSelector: selector ? compileLabelSelector(selector) : everything }
}
