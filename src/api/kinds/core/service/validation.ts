/**
 * Validation of Service. Cluster IPs and node ports that are not set are allocated afterwards. Addresses of
 * the old object remain valid.
 */
import { enumValues } from '../../../definitions.ts'
import { forbiddenField, invalid, required, type FieldError } from '../../../field-error.ts'
import type { Service, ServiceSpec, SessionAffinityConfig } from '../../../generated/core/v1.ts'
import { validateNonSpecialIp, validateIpForLegacyField } from '../../../net/ip.ts'
import { validateLabels } from '../../../labels.ts'
import { checkDns1123Subdomain } from '../../../names.ts'
import { annotationOf } from '../../../metadata.ts'
import {
  validateChoice,
  validateOptionalChoice,
  validateRequiredName,
} from '../../validation/field-checks.ts'
import { validatePortNumber } from '../../validation/ports.ts'
import {
  validateClusterIps,
  validateClusterIpsUpdate,
  validateIpFamiliesUpdate,
} from './cluster-ip-validation.ts'
import {
  validateLoadBalancer,
  validateLoadBalancerClassUpdate,
  validateLoadBalancerStatus,
} from './load-balancer-validation.ts'
import { validateDistinctPorts, validateServicePorts } from './port-validation.ts'
import { isExternallyAccessible, isHeadless, needsHealthCheckNodePort } from './traits.ts'

export function validateService(service: Service, old?: Service): FieldError[] {
  const spec = service.spec ?? {}
  return [
    ...validateTopologyAnnotations(service),
    ...validateType(spec),
    ...validateServicePorts(spec),
    ...validateLabels('spec.selector', spec.selector),
    ...validateSessionAffinity(spec),
    ...validateClusterIps(spec, old?.spec?.clusterIPs),
    ...validateExternalIps(spec.externalIPs ?? [], old?.spec?.externalIPs),
    ...validateChoice('spec.type', spec.type, serviceTypes),
    ...validateDistinctPorts(spec),
    ...validateLoadBalancer(service, old),
    ...validateExternalTraffic(spec),
    ...validateInternalTraffic(spec),
    ...validateOptionalChoice('spec.trafficDistribution', spec.trafficDistribution, trafficDistributions),
  ]
}

export function validateServiceUpdate(service: Service, old: Service): FieldError[] {
  const spec = service.spec ?? {}
  const was = old.spec ?? {}
  return [
    ...validateClusterIpsUpdate(spec, was),
    ...validateIpFamiliesUpdate(spec, was),
    ...validateLoadBalancerClassUpdate(spec, was),
    ...validateHealthCheckPortUpdate(spec, was),
    ...validateService(service, old),
  ]
}

export function validateServiceStatusUpdate(service: Service, old: Service): FieldError[] {
  const known = old.status?.loadBalancer?.ingress?.flatMap(ingress => ingress.ip ?? [])
  return validateLoadBalancerStatus(service, new Set(known))
}

const serviceTypes = enumValues('core.ServiceType')
const trafficDistributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const topologyHints = 'service.kubernetes.io/topology-aware-hints'
const topologyMode = 'service.kubernetes.io/topology-mode'

/** The annotation and its deprecated name must agree if both are set. */
function validateTopologyAnnotations(service: Service): FieldError[] {
  const hints = annotationOf(service, topologyHints)
  const mode = annotationOf(service, topologyMode)
  if (hints === undefined || mode === undefined || hints === mode) return []
  const detail = `must match annotations[${topologyHints}] when both are specified`
  return [invalid(`metadata.annotations[${topologyMode}]`, mode, detail)]
}

function validateType(spec: ServiceSpec): FieldError[] {
  const { type, ports = [] } = spec
  if (type === 'ExternalName') return validateExternalName(spec)
  const errors: FieldError[] = []
  if (ports.length === 0 && !isHeadless(spec)) errors.push(required('spec.ports', ''))
  if (isHeadless(spec) && (type === 'LoadBalancer' || type === 'NodePort')) {
    errors.push(invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`))
  }
  return errors
}

function validateExternalName(spec: ServiceSpec): FieldError[] {
  const detail = 'may not be set for ExternalName services'
  const errors: FieldError[] = []
  if (spec.clusterIPs?.length) errors.push(forbiddenField('spec.clusterIPs', detail))
  if (spec.ipFamilies?.length) errors.push(forbiddenField('spec.ipFamilies', detail))
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbiddenField('spec.ipFamilyPolicy', detail))
  // The trailing dot of a fully qualified domain name is allowed.
  const domain = spec.externalName?.replace(/\.$/, '')
  return [...errors, ...validateRequiredName('spec.externalName', domain, checkDns1123Subdomain)]
}

/** Maximum session affinity timeout: one day. */
const affinityTimeoutMax = 86_400

function validateSessionAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const errors = validateChoice('spec.sessionAffinity', sessionAffinity, enumValues('core.ServiceAffinity'))
  if (sessionAffinity === 'ClientIP') errors.push(...validateClientIpAffinity(sessionAffinityConfig))
  if (sessionAffinity === 'None' && sessionAffinityConfig !== undefined) {
    errors.push(forbiddenField('spec.sessionAffinityConfig', 'must not be set when session affinity is None'))
  }
  return errors
}

function validateClientIpAffinity(config: SessionAffinityConfig | undefined): FieldError[] {
  const field = 'spec.sessionAffinityConfig'
  const detail = 'when session affinity type is ClientIP'
  if (config === undefined) return [required(field, detail)]
  if (config.clientIP === undefined) return [required(`${field}.clientIP`, detail)]
  const { timeoutSeconds } = config.clientIP
  if (timeoutSeconds === undefined) return [required(`${field}.clientIP.timeoutSeconds`, detail)]
  if (timeoutSeconds > 0 && timeoutSeconds <= affinityTimeoutMax) return []
  const range = `must be greater than 0 and less than ${affinityTimeoutMax}`
  return [invalid(`${field}.clientIP.timeoutSeconds`, timeoutSeconds, range)]
}

function validateExternalIps(ips: readonly string[], old?: readonly string[]): FieldError[] {
  const known = new Set(old)
  return ips.flatMap((ip, index) => {
    const field = `spec.externalIPs[${index}]`
    const errors = known.has(ip) ? [] : validateIpForLegacyField(field, ip)
    return errors.length > 0 ? errors : validateNonSpecialIp(field, ip)
  })
}

function validateExternalTraffic(spec: ServiceSpec): FieldError[] {
  return [...validateExternalTrafficPolicy(spec), ...validateHealthCheckPort(spec)]
}

function validateExternalTrafficPolicy(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy: policy } = spec
  const field = 'spec.externalTrafficPolicy'
  if (isExternallyAccessible(spec))
    return validateChoice(field, policy, enumValues('core.ServiceExternalTrafficPolicy'))
  return policy ? [invalid(field, policy, 'may only be set for externally-accessible services')] : []
}

function validateHealthCheckPort(spec: ServiceSpec): FieldError[] {
  const { healthCheckNodePort: port = 0 } = spec
  const field = 'spec.healthCheckNodePort'
  if (needsHealthCheckNodePort(spec)) return port === 0 ? [] : validatePortNumber(field, port)
  const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
  return port === 0 ? [] : [invalid(field, port, detail)]
}

function validateHealthCheckPortUpdate(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (!needsHealthCheckNodePort(spec) || !needsHealthCheckNodePort(old)) return []
  if ((spec.healthCheckNodePort ?? 0) === (old.healthCheckNodePort ?? 0)) return []
  return [forbiddenField('spec.healthCheckNodePort', 'field is immutable')]
}

function validateInternalTraffic({ type, internalTrafficPolicy: policy }: ServiceSpec): FieldError[] {
  const field = 'spec.internalTrafficPolicy'
  const isRequired = type === 'NodePort' || type === 'LoadBalancer' || type === 'ClusterIP'
  if (policy === undefined && isRequired) return [required(field, '')]
  return validateOptionalChoice(field, policy, enumValues('core.ServiceInternalTrafficPolicy'))
}
