import type { HorizontalPodAutoscaler as AutoscalerV1 } from '#/api/generated/autoscaling/v1.ts'
import type {
  CrossVersionObjectReference,
  HorizontalPodAutoscaler,
  HPAScalingRules,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '#/api/generated/autoscaling/v2.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { DescribeContext, Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { horizontalPodAutoscalers } from './related-resources.ts'
import { describeEvents } from './sections/events.ts'
import { describeAnnotations, describeLabels } from './sections/metadata.ts'
import { localTime } from './sections/times.ts'
import { withoutNulls } from './without-nulls.ts'

/** In version 2 if the server has it, which tells more. */
export const describeHorizontalPodAutoscaler: Describer<HorizontalPodAutoscaler | AutoscalerV1> = async (
  autoscaler,
  context,
) => {
  const { namespace, name = '' } = autoscaler.metadata
  if (autoscaler.apiVersion === 'autoscaling/v2') {
    describeV2(autoscaler, context)
  } else {
    const found = await context.client
      .get(horizontalPodAutoscalers, { namespace, name })
      .catch(() => undefined)
    if (found) describeV2(withoutNulls(found), context)
    else describeV1(autoscaler as AutoscalerV1, context)
  }
  await describeEvents(autoscaler, context)
}

function describeV2(autoscaler: HorizontalPodAutoscaler, context: DescribeContext): void {
  const { writer } = context
  const { spec, status } = autoscaler
  const target = spec?.scaleTargetRef
  describeHead(autoscaler, target, context)
  writer.fields(0, [['Metrics', '( current / target )']])
  for (const [index, metric] of (spec?.metrics ?? []).entries()) {
    describeMetric(writer, metric, status?.currentMetrics?.[index])
  }
  writer.fields(0, [
    ['Min replicas', spec?.minReplicas ?? '<unset>'],
    ['Max replicas', spec?.maxReplicas ?? 0],
  ])
  if (spec?.behavior) {
    writer.write(0, 'Behavior:\n')
    describeScalingRules(writer, 'Scale Up', spec.behavior.scaleUp)
    describeScalingRules(writer, 'Scale Down', spec.behavior.scaleDown)
  }
  describeReplicas(writer, target, status)
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return
  writer.write(0, 'Conditions:\n')
  writer.rows(1, [
    ['Type', 'Status', 'Reason', 'Message'],
    ['----', '------', '------', '-------'],
    ...conditions.map(({ type, status, reason = '', message = '' }) => [type, status, reason, message]),
  ])
}

function describeHead(
  autoscaler: KubernetesObject,
  target: CrossVersionObjectReference | undefined,
  context: DescribeContext,
): void {
  const { writer } = context
  const { metadata } = autoscaler
  writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Namespace', metadata.namespace ?? ''],
  ])
  describeLabels(writer, autoscaler)
  describeAnnotations(writer, autoscaler)
  writer.fields(0, [
    ['CreationTimestamp', localTime(metadata.creationTimestamp, context)],
    ['Reference', `${target?.kind ?? ''}/${target?.name ?? ''}`],
  ])
}

function describeReplicas(
  writer: DescribeWriter,
  target: CrossVersionObjectReference | undefined,
  status: { readonly currentReplicas?: number; readonly desiredReplicas?: number } = {},
): void {
  const { currentReplicas = 0, desiredReplicas = 0 } = status
  writer.fields(0, [
    [`${target?.kind ?? ''} pods`, `${currentReplicas} current / ${desiredReplicas} desired`],
  ])
}

function describeMetric(writer: DescribeWriter, metric: MetricSpec, current: MetricStatus | undefined): void {
  const { external, pods, object, resource, containerResource } = metric
  if (metric.type === 'External' && external) {
    const { averageValue, value } = external.target
    const currently = current?.external?.current
    const text =
      averageValue === undefined
        ? `(target value):\t${currently ? shown(currently.value) : unknown} / ${shown(value)}`
        : `(target average value):\t${currently?.averageValue ?? unknown} / ${averageValue}`
    writer.write(1, `${quote(external.metric.name)} ${text}\n`)
  } else if (metric.type === 'Pods' && pods) {
    const currently = current?.pods ? shown(current.pods.current.averageValue) : unknown
    const target = shown(pods.target.averageValue)
    writer.write(1, `${quote(pods.metric.name)} on pods:\t${currently} / ${target}\n`)
  } else if (metric.type === 'Object' && object) {
    const { kind, name } = object.describedObject
    const isAverage = object.target.type === 'AverageValue'
    const key = isAverage ? 'averageValue' : 'value'
    const currently = current?.object ? shown(current.object.current[key]) : unknown
    const label = isAverage ? '(target average value)' : '(target value)'
    const values = `${currently} / ${shown(object.target[key])}`
    writer.write(1, `"${object.metric.name}" on ${kind}/${name} ${label}:\t${values}\n`)
  } else if (metric.type === 'Resource' && resource) {
    const text = resourceText(resource.target, current?.resource?.current)
    writer.write(1, `resource ${resource.name} on pods${text}\n`)
  } else if (metric.type === 'ContainerResource' && containerResource) {
    const { name, container, target } = containerResource
    const text = resourceText(target, current?.containerResource?.current)
    writer.write(1, `resource ${name} of container "${container}" on pods${text}\n`)
  } else {
    writer.write(1, `<unknown metric type ${quote(metric.type)}>\n`)
  }
}

const unknown = '<unknown>'

/** An absent quantity as kubectl prints it. */
function shown(quantity: string | undefined): string {
  return quantity ?? '<nil>'
}

function resourceText(target: MetricTarget, current: MetricValueStatus | undefined): string {
  const { averageValue, averageUtilization } = target
  if (averageValue !== undefined) {
    return `:\t${current ? shown(current.averageValue) : unknown} / ${averageValue}`
  }
  const used =
    current?.averageUtilization === undefined
      ? unknown
      : `${current.averageUtilization}% (${shown(current.averageValue)})`
  const wanted = averageUtilization === undefined ? '<auto>' : `${averageUtilization}%`
  return `  (as a percentage of request):\t${used} / ${wanted}`
}

function describeScalingRules(
  writer: DescribeWriter,
  direction: string,
  rules: HPAScalingRules | undefined,
): void {
  if (!rules) return
  const { stabilizationWindowSeconds: window, policies = [], selectPolicy = 'Max' } = rules
  writer.write(1, `${direction}:\n`)
  if (window !== undefined) writer.write(2, `Stabilization Window: ${window} seconds\n`)
  if (policies.length === 0) return
  writer.write(2, `Select Policy: ${selectPolicy}\n`)
  writer.write(2, 'Policies:\n')
  for (const { type, value, periodSeconds } of policies) {
    writer.rows(3, [[`- Type: ${type}`, `Value: ${value}`, `Period: ${periodSeconds} seconds`]])
  }
}

function describeV1(autoscaler: AutoscalerV1, context: DescribeContext): void {
  const { writer } = context
  const { spec, status } = autoscaler
  const target = spec?.targetCPUUtilizationPercentage
  const current = status?.currentCPUUtilizationPercentage ?? unknown
  describeHead(autoscaler, spec?.scaleTargetRef, context)
  writer.fields(0, [
    ['Target CPU utilization', target === undefined ? undefined : `${target}%`],
    ['Current CPU utilization', target === undefined ? undefined : `${current}%`],
    ['Min replicas', spec?.minReplicas ?? '<unset>'],
    ['Max replicas', spec?.maxReplicas ?? 0],
  ])
  describeReplicas(writer, spec?.scaleTargetRef, status)
}
