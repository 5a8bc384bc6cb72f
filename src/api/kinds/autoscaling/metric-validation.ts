/** Validation of the five metric types and their targets. */
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type * as v2 from '../../generated/autoscaling/v2.ts'
import { checkDns1123Label, checkPathSegmentName } from '../../names.ts'
import { quantitySign, tryParseQuantity } from '../../text/quantity.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import { validateContainerResource } from '../../core/resource-names.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateReference, type ReferenceRules } from './reference-validation.ts'

type Target = Unchecked<v2.MetricTarget>
type Identifier = Unchecked<v2.MetricIdentifier>

/** The metric source fields, of which exactly one must be set, in the order of validation. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const

/** The source field of each metric type. */
const sourceOfType: Readonly<Record<string, (typeof sources)[number]>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
}

export function validateMetric(
  field: string,
  metric: Unchecked<v2.MetricSpec>,
  objects: ReferenceRules,
): FieldError[] {
  const { type = '' } = metric
  const errors = type === '' ? [required(`${field}.type`, 'must specify a metric source type')] : []
  const expected = Object.hasOwn(sourceOfType, type) ? sourceOfType[type] : undefined
  if (!expected) errors.push(notSupported(`${field}.type`, type, Object.keys(sourceOfType)))
  const present = sources.filter(source => metric[source] !== undefined)
  const [first] = present
  if (first) errors.push(...validateSource(`${field}.${first}`, metric, { source: first, objects }))
  if (expected && !metric[expected]) {
    errors.push(required(`${field}.${expected}`, 'must populate information for the given metric source'))
  }
  // Kubernetes finds an unknown type twice.
  if (!expected) errors.push(notSupported(`${field}.type`, type, Object.keys(sourceOfType)))
  if (present.length < 2) return errors
  const superfluous = present.filter(source => source !== expected)
  return [
    ...errors,
    ...superfluous.map(source => {
      return forbiddenField(`${field}.${source}`, 'must populate the given metric source only')
    }),
  ]
}

function validateSource(
  field: string,
  metric: Unchecked<v2.MetricSpec>,
  { source, objects }: { readonly source: (typeof sources)[number]; readonly objects: ReferenceRules },
): FieldError[] {
  const { object = {}, external = {}, pods = {}, resource = {}, containerResource = {} } = metric
  switch (source) {
    case 'object':
      return [
        ...validateReference(`${field}.describedObject`, object.describedObject, objects),
        ...validateIdentified(field, object),
        ...requireValue(field, object.target, 'must set either a target value or averageValue'),
      ]
    case 'external':
      return [...validateIdentified(field, external), ...validateExternalTarget(field, external.target)]
    case 'pods':
      return [...validateIdentified(field, pods), ...validatePodsTarget(field, pods.target)]
    case 'resource':
      return [
        ...(resource.name ? [] : [required(`${field}.name`, 'must specify a resource name')]),
        ...validateResourceTarget(field, resource.target),
      ]
    case 'containerResource':
      return [
        ...validateContainer(field, containerResource),
        ...validateResourceTarget(field, containerResource.target),
      ]
  }
}

function validateContainer(
  field: string,
  { name, container }: Unchecked<v2.ContainerResourceMetricSource>,
): FieldError[] {
  return [
    ...(name
      ? validateContainerResource(`${field}.name`, name)
      : [required(`${field}.name`, 'must specify a resource name')]),
    ...(container
      ? validateRequiredName(`${field}.container`, container, checkDns1123Label)
      : [required(`${field}.container`, 'must specify a container')]),
  ]
}

function validateIdentified(
  field: string,
  { metric = {}, target }: { readonly metric?: Identifier; readonly target?: Target },
): FieldError[] {
  return [
    ...(metric.name
      ? validateRequiredName(`${field}.metric.name`, metric.name, checkPathSegmentName)
      : [required(`${field}.metric.name`, 'must specify a metric name')]),
    ...validateTarget(`${field}.target`, target),
  ]
}

function validateExternalTarget(field: string, target: Target | undefined): FieldError[] {
  if (target?.value === undefined || target.averageValue === undefined) {
    return requireValue(field, target, 'must set either a target value for metric or a per-pod target')
  }
  const detail = 'may not set both a target value for metric and a per-pod target'
  return [forbiddenField(`${field}.target.value`, detail)]
}

function validatePodsTarget(field: string, target: Target | undefined): FieldError[] {
  if (target?.averageValue !== undefined) return []
  return [required(`${field}.target.averageValue`, 'must specify a positive target averageValue')]
}

function validateResourceTarget(field: string, target: Target | undefined): FieldError[] {
  const { averageUtilization, averageValue } = target ?? {}
  const errors = validateTarget(`${field}.target`, target)
  if (averageUtilization === undefined && averageValue === undefined) {
    const detail = 'must set either a target raw value or a target utilization'
    errors.push(required(`${field}.target.averageUtilization`, detail))
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    const detail = 'may not set both a target raw value and a target utilization'
    errors.push(forbiddenField(`${field}.target.averageValue`, detail))
  }
  return errors
}

function requireValue(field: string, target: Target | undefined, detail: string): FieldError[] {
  if (target?.value !== undefined || target?.averageValue !== undefined) return []
  return [required(`${field}.target.averageValue`, detail)]
}

function validateTarget(field: string, target: Target = {}): FieldError[] {
  const { type = '', value, averageValue, averageUtilization } = target
  const errors: FieldError[] = []
  if (type === '') errors.push(required(`${field}.type`, 'must specify a metric target type'))
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue') {
    errors.push(invalid(`${field}.type`, type, 'must be either Utilization, Value, or AverageValue'))
  }
  errors.push(...validatePositiveAmount(`${field}.value`, value))
  errors.push(...validatePositiveAmount(`${field}.averageValue`, averageValue))
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(invalid(`${field}.averageUtilization`, averageUtilization, 'must be greater than 0'))
  }
  return errors
}

function validatePositiveAmount(field: string, text: string | undefined): FieldError[] {
  if (text === undefined) return []
  const amount = tryParseQuantity(text)
  return amount && quantitySign(amount) === 1 ? [] : [invalid(field, text, 'must be positive')]
}
