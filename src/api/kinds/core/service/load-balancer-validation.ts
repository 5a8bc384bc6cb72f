/** Validation of the load balancer fields of a service. */
import { validateCidrForLegacyField } from '../../../net/cidr.ts'
import { forbiddenField, invalid, invalidEach, required, type FieldError } from '../../../field-error.ts'
import type { LoadBalancerIngress, Service, ServiceSpec } from '../../../generated/core/v1.ts'
import { checkQualifiedName } from '../../../names.ts'
import { validateIpForLegacyField } from '../../../net/ip.ts'
import { annotationOf } from '../../../metadata.ts'
import { validateBalancerHostname, validateOptionalChoice } from '../../validation/field-checks.ts'

export function validateLoadBalancer(service: Service, old: Service | undefined): FieldError[] {
  const { type, allocateLoadBalancerNodePorts } = service.spec ?? {}
  const errors = validateSourceRanges(service, old)
  if (type !== 'LoadBalancer' && allocateLoadBalancerNodePorts !== undefined) {
    errors.push(forbiddenField('spec.allocateLoadBalancerNodePorts', onlyForLoadBalancers))
  }
  if (type === 'LoadBalancer' && allocateLoadBalancerNodePorts === undefined) {
    errors.push(required('allocateLoadBalancerNodePorts', ''))
  }
  return [...errors, ...validateLoadBalancerClass(service.spec ?? {})]
}

/** `loadBalancerClass` is immutable while the type is LoadBalancer. */
export function validateLoadBalancerClassUpdate(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (spec.type !== 'LoadBalancer' || old.type !== 'LoadBalancer') return []
  if (spec.loadBalancerClass === old.loadBalancerClass) return []
  return [invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set')]
}

/** Addresses of the old object remain valid. */
export function validateLoadBalancerStatus(service: Service, known: ReadonlySet<string>): FieldError[] {
  const field = 'status.loadBalancer.ingress'
  const ingress = service.status?.loadBalancer?.ingress ?? []
  if (ingress.length === 0) return []
  if (service.spec?.type !== 'LoadBalancer') {
    return [forbiddenField(field, "may only be used when `spec.type` is 'LoadBalancer'")]
  }
  return ingress.flatMap((each, index) => [
    ...(each.ip && !known.has(each.ip) ? validateIpForLegacyField(`${field}[${index}].ip`, each.ip) : []),
    ...validateIpMode(`${field}[${index}].ipMode`, each),
    ...validateBalancerHostname(`${field}[${index}].hostname`, each.hostname),
  ])
}

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'"
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges'

function validateSourceRanges(service: Service, old: Service | undefined): FieldError[] {
  const { type, loadBalancerSourceRanges: ranges = [] } = service.spec ?? {}
  // The capital L is Kubernetes'.
  const field = 'spec.LoadBalancerSourceRanges'
  if (ranges.length === 0) return validateSourceRangesAnnotation(service, old)
  const errors = type === 'LoadBalancer' ? [] : [forbiddenField(field, onlyForLoadBalancers)]
  const known = new Set(old?.spec?.loadBalancerSourceRanges?.map(range => range.trim()))
  return [
    ...errors,
    ...ranges.flatMap((range, index) => {
      return known.has(range.trim()) ? [] : validateCidrForLegacyField(`${field}[${index}]`, range.trim())
    }),
  ]
}

function validateSourceRangesAnnotation(service: Service, old: Service | undefined): FieldError[] {
  const value = annotationOf(service, sourceRangesAnnotation)
  if (value === undefined) return []
  const field = `metadata.annotations[${sourceRangesAnnotation}]`
  const errors = service.spec?.type === 'LoadBalancer' ? [] : [forbiddenField(field, onlyForLoadBalancers)]
  const isKnown = old !== undefined && annotationOf(old, sourceRangesAnnotation) === value
  if (isKnown || value.trim() === '') return errors
  return [...errors, ...value.split(',').flatMap(range => validateCidrForLegacyField(field, range.trim()))]
}

function validateLoadBalancerClass({ type, loadBalancerClass }: ServiceSpec): FieldError[] {
  if (loadBalancerClass === undefined) return []
  const field = 'spec.loadBalancerClass'
  return type === 'LoadBalancer'
    ? invalidEach(field, loadBalancerClass, checkQualifiedName(loadBalancerClass))
    : [forbiddenField(field, onlyForLoadBalancers)]
}

function validateIpMode(field: string, { ip, ipMode }: LoadBalancerIngress): FieldError[] {
  if (ipMode === undefined) return ip ? [required(field, 'must be specified when `ip` is set')] : []
  if (!ip) return [forbiddenField(field, 'may not be specified when `ip` is not set')]
  return validateOptionalChoice(field, ipMode, ['Proxy', 'VIP'])
}
