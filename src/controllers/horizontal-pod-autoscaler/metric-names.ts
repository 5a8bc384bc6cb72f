import type {
  HorizontalPodAutoscaler,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricValueStatus,
} from '#/api/generated/autoscaling/v2.ts'
import type { LabelSelector } from '#/api/selectors/selector.ts'
import { quote } from '#/api/text/quote.ts'

/** Names and messages for one metric, as in kube-controller-manager. */
export interface MetricNames {
  readonly name: string
  /** Reason of the condition and event when the metric cannot be used. */
  readonly failureReason: string
  /** Message when the metric has no target. */
  readonly noTarget: string
  /** Message when the metric could not be read. */
  readonly unread: (why: string) => string
  /** Wraps a message for the condition and event. */
  readonly wrap: (message: string) => string
  /** Wraps that message for the summary of several metrics. */
  readonly summarize: (message: string) => string
  readonly statusOf: (current: MetricValueStatus) => MetricStatus
}

export function metricNames(metric: MetricSpec, { metadata }: HorizontalPodAutoscaler): MetricNames {
  const { resource, containerResource, pods, object, external } = metric
  const namespace = metadata.namespace ?? ''
  if (resource) {
    return {
      ...resourceNames(resource.name, resource.target.averageValue !== undefined, 'resource'),
      failureReason: 'FailedGetResourceMetric',
      summarize: message => `failed to get ${resource.name} resource metric value: ${message}`,
      statusOf: current => ({ type: 'Resource', resource: { name: resource.name, current } }),
    }
  }
  if (containerResource) {
    const { name, container, target } = containerResource
    return {
      ...resourceNames(name, target.averageValue !== undefined, 'container resource'),
      failureReason: 'FailedGetContainerResourceMetric',
      summarize: message => `failed to get ${container} container metric value: ${message}`,
      statusOf: current => ({ type: 'ContainerResource', containerResource: { name, container, current } }),
    }
  }
  if (pods) {
    return {
      ...countedNames('pods', pods.metric),
      name: `pods metric ${pods.metric.name}`,
      unread: why => `unable to get metric ${pods.metric.name}: ${why}`,
      summarize: message => `failed to get pods metric value: ${message}`,
      statusOf: current => ({ type: 'Pods', pods: { metric: pods.metric, current } }),
    }
  }
  if (object) {
    const { metric: counted, describedObject, target } = object
    const isAverage = target.averageValue !== undefined
    return {
      ...countedNames('object', counted),
      ...(!isAverage && { name: `${describedObject.kind} metric ${counted.name}` }),
      unread: why => {
        const { kind, name } = describedObject
        return `unable to get metric ${counted.name}: ${kind} on ${namespace} ${name}/${why}`
      },
      summarize: message => {
        const which = isAverage ? `failed to get ${counted.name} object metric: ` : ''
        return `failed to get object metric value: ${which}${message}`
      },
      statusOf: current => ({ type: 'Object', object: { metric: counted, describedObject, current } }),
    }
  }
  return external ? externalNames(external, namespace) : unknownNames(metric)
}

function resourceNames(
  resource: string,
  isAverage: boolean,
  kind: string,
): Pick<MetricNames, 'name' | 'noTarget' | 'unread' | 'wrap'> {
  const noTarget =
    'invalid resource metric source: ' +
    'neither an average utilization target nor an average value (usage) target was set'
  const measure = isAverage ? 'usage' : 'utilization'
  return {
    name: isAverage ? `${resource} resource` : `${resource} ${kind} utilization (percentage of request)`,
    noTarget,
    unread: why => `unable to get metrics for resource ${resource}: ${why}`,
    wrap: message => (message === noTarget ? message : `failed to get ${resource} ${measure}: ${message}`),
  }
}

function countedNames(
  kind: 'pods' | 'object' | 'external',
  metric: MetricIdentifier,
): Pick<MetricNames, 'name' | 'failureReason' | 'noTarget' | 'wrap'> {
  const reasonPart = { pods: 'Pods', object: 'Object', external: 'External' }[kind]
  return {
    name: `external metric ${metric.name}(${formatSelector(metric.selector)})`,
    failureReason: `FailedGet${reasonPart}Metric`,
    noTarget: `invalid ${kind} metric source: neither a value target nor an average value target was set`,
    wrap: message => message,
  }
}

function externalNames(
  { metric, target }: NonNullable<MetricSpec['external']>,
  namespace: string,
): MetricNames {
  const names = countedNames('external', metric)
  const which =
    target.averageValue === undefined
      ? `failed to get external metric ${metric.name}: `
      : `failed to get ${metric.name} external metric: `
  return {
    ...names,
    unread: why => {
      const { name, selector } = metric
      return `unable to get external metric ${namespace}/${name}/${formatSelector(selector)}: ${why}`
    },
    summarize: message => {
      const known = message === names.noTarget ? '' : which
      return `failed to get ${metric.name} external metric value: ${known}${message}`
    },
    statusOf: current => ({ type: 'External', external: { metric, current } }),
  }
}

/** The API server rejects unknown types, but a newer one may allow more. */
function unknownNames({ type }: MetricSpec): MetricNames {
  const message = `unknown metric source type ${quote(type)}`
  return {
    name: type,
    failureReason: 'InvalidMetricSourceType',
    noTarget: message,
    unread: () => message,
    wrap: text => text,
    summarize: text => text,
    statusOf: () => ({ type }),
  }
}

/** Kubernetes' format of a selector in messages. */
function formatSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil'
  const labels = Object.entries(selector.matchLabels ?? {})
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`)
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    return `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`
  })
  const parts = [
    `MatchLabels:map[string]string{${labels.join('')}},`,
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},`,
  ]
  return `&LabelSelector{${parts.join('')}}`
}
