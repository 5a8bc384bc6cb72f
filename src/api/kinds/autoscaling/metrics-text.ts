/** Formats the metrics of an autoscaler for a table cell: `cpu: 3%/80%, 12/100 (avg) + 1 more...`. */
import type {
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../generated/autoscaling/v2.ts'
import type { Unchecked } from '../validation/unchecked.ts'

type Metric = Unchecked<MetricSpec>
type Status = Unchecked<MetricStatus>
type Target = Unchecked<MetricTarget>

/** Current value of a metric; undefined until the first measurement. */
type Reading = { readonly current?: Unchecked<MetricValueStatus> } | undefined

/** Maximum number of metrics in a cell. */
const shownMax = 2

export function metricsText(metrics: readonly Metric[] = [], statuses: readonly Status[] = []): string {
  if (metrics.length === 0) return '<none>'
  const shown = metrics.slice(0, shownMax).map((metric, index) => metricText(metric, statuses[index] ?? {}))
  const text = shown.join(', ')
  return metrics.length > shownMax ? `${text} + ${metrics.length - shownMax} more...` : text
}

function metricText(metric: Metric, status: Status): string {
  const { type = '', external, object, pods, resource, containerResource: container } = metric
  switch (type) {
    case 'External':
      return amountText(external?.target, status.external)
    case 'Object':
      return amountText(object?.target, status.object)
    case 'Pods':
      return `${averageText(status.pods)}/${pods?.target?.averageValue ?? missing}`
    case 'Resource':
      return `${resource?.name ?? ''}: ${shareText(resource?.target, status.resource)}`
    case 'ContainerResource':
      return `${container?.name ?? ''}: ${shareText(container?.target, status.containerResource)}`
    default:
      return '<unknown type>'
  }
}

const unknown = '<unknown>'

/** Printed for a mandatory amount that is missing. */
const missing = '<nil>'

/** A total for all pods, or an average. */
function amountText({ averageValue, value }: Target = {}, reading: Reading): string {
  if (averageValue !== undefined) return `${reading?.current?.averageValue ?? unknown}/${averageValue} (avg)`
  return `${reading === undefined ? unknown : (reading.current?.value ?? missing)}/${value ?? missing}`
}

/** An amount per pod, or a utilization relative to the pods' requests. */
function shareText({ averageValue, averageUtilization }: Target = {}, reading: Reading): string {
  if (averageValue !== undefined) return `${averageText(reading)}/${averageValue}`
  const current = reading?.current?.averageUtilization
  const wanted = averageUtilization === undefined ? '<auto>' : `${averageUtilization}%`
  return current === undefined ? `${unknown}/${wanted}` : `${current}%/${wanted}`
}

function averageText(reading: Reading): string {
  return reading === undefined ? unknown : (reading.current?.averageValue ?? missing)
}
