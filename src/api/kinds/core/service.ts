/**
 * Rules of Service. Cluster IPs and node ports are not defaults: the API server allocates them after
 * validation.
 */
import type { Service } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { labelNames } from '../../names.ts'
import { withServiceDefaults } from './service/defaults.ts'
import { prepareServiceForCreate, prepareServiceForUpdate } from './service/prepare.ts'
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from './service/validation.ts'
import { warningsForCidr } from '../../net/cidr.ts'
import { warningsForIp } from '../../net/ip.ts'
import { annotationOf } from '../../metadata.ts'

export const serviceRules: KindRules<Service> = {
  names: labelNames,
  withDefaults: withServiceDefaults,
  prepareForCreate: prepareServiceForCreate,
  prepareForUpdate: prepareServiceForUpdate,
  validate: service => validateService(service),
  validateUpdate: validateServiceUpdate,
  validateStatusUpdate: validateServiceStatusUpdate,
  warnings: warningsForService,
  selectableFields: {
    'spec.clusterIP': service => service.spec?.clusterIP ?? '',
    'spec.type': service => service.spec?.type ?? '',
  },
  allowCreateOnUpdate: true,
  returnDeletedObject: true,
}

function warningsForService(service: Service): readonly string[] {
  const spec = service.spec ?? {}
  const { type, externalIPs = [], clusterIP, clusterIPs = [] } = spec
  const isHeadless = type === 'ClusterIP' && clusterIP === 'None'
  const warnings: string[] = []
  if (annotationOf(service, 'service.kubernetes.io/topology-aware-hints') !== undefined) {
    warnings.push(
      'annotation service.kubernetes.io/topology-aware-hints is deprecated, ' +
        'please use service.kubernetes.io/topology-mode instead',
    )
  }
  if (clusterIP && clusterIP !== 'None') {
    warnings.push(...clusterIPs.flatMap((ip, index) => warningsForIp(`spec.clusterIPs[${index}]`, ip)))
  }
  if (isHeadless && spec.loadBalancerIP) warnings.push('spec.loadBalancerIP is ignored for headless services')
  if (isHeadless && externalIPs.length > 0) warnings.push('spec.externalIPs is ignored for headless services')
  if (isHeadless && spec.sessionAffinity !== 'None') {
    warnings.push('spec.SessionAffinity is ignored for headless services')
  }
  warnings.push(...externalIPs.flatMap((ip, index) => warningsForIp(`spec.externalIPs[${index}]`, ip)))
  if (externalIPs.length > 0 && !isHeadless && type !== 'ExternalName') {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters')
  }
  if (spec.loadBalancerIP) warnings.push(...warningsForIp('spec.loadBalancerIP', spec.loadBalancerIP))
  warnings.push(
    ...(spec.loadBalancerSourceRanges?.flatMap((range, index) => {
      return warningsForCidr(`spec.loadBalancerSourceRanges[${index}]`, range)
    }) ?? []),
  )
  return [...warnings, ...warningsForIgnoredFields(service)]
}

function warningsForIgnoredFields({ spec = {} }: Service): string[] {
  const warnings: string[] = []
  if (spec.type === 'ExternalName' && spec.externalIPs?.length) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"')
  }
  if (spec.type !== 'ExternalName' && spec.externalName) {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"')
  }
  if (spec.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  }
  return warnings
}
