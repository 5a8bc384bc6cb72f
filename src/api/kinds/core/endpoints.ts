/** Rules of Endpoints, which EndpointSlice has replaced; kept for old clients. */
import { required, type FieldError } from '../../field-error.ts'
import type { EndpointAddress, EndpointPort, Endpoints, EndpointSubset } from '../../generated/core/v1.ts'
import { validateNonSpecialIp, validateIpForLegacyField, warningsForIp } from '../../net/ip.ts'
import type { KindRules } from '../../kind-rules.ts'
import { labelOf } from '../../labels.ts'
import { validateChoice, validateDnsLabel, validateDnsSubdomain } from '../validation/field-checks.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { mapCopyOnWrite, withDefaults, withField } from '../../copy-on-write.ts'
import { portProtocols, validateAppProtocol, validatePortNumber } from '../validation/ports.ts'

export const endpointsRules: KindRules<Endpoints> = {
  withDefaults: endpoints =>
    withField(endpoints, 'subsets', list => mapCopyOnWrite(list, withSubsetDefaults)),
  validate: validateEndpoints,
  // Unchanged subsets are not validated again: rules may have become stricter since.
  validateUpdate: (endpoints, old) => {
    const errors = validateEndpoints(endpoints)
    return errors.length > 0 && semanticEqual(endpoints.subsets, old.subsets) ? [] : errors
  },
  warnings: warningsForEndpoints,
  deprecation: 'is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  allowCreateOnUpdate: true,
}

function withSubsetDefaults(subset: EndpointSubset): EndpointSubset {
  return withField(subset, 'ports', ports =>
    mapCopyOnWrite(ports, port => withDefaults(port, { protocol: 'TCP' })),
  )
}

function validateEndpoints({ subsets = [] }: Endpoints): FieldError[] {
  return subsets.flatMap((subset, index) => validateSubset(`subsets[${index}]`, subset))
}

function validateSubset(field: string, subset: EndpointSubset): FieldError[] {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset
  const errors =
    addresses.length + notReadyAddresses.length > 0
      ? []
      : [required(field, 'must specify `addresses` or `notReadyAddresses`')]
  return [
    ...errors,
    ...addresses.flatMap((each, index) => validateAddress(`${field}.addresses[${index}]`, each)),
    ...notReadyAddresses.flatMap((each, index) => {
      return validateAddress(`${field}.notReadyAddresses[${index}]`, each)
    }),
    ...ports.flatMap((port, index) => validatePort(`${field}.ports[${index}]`, port, ports.length > 1)),
  ]
}

function validateAddress(field: string, address: EndpointAddress): FieldError[] {
  const { hostname, nodeName } = address
  const ip = address.ip ?? ''
  return [
    ...validateIpForLegacyField(`${field}.ip`, ip),
    ...(hostname ? validateDnsLabel(`${field}.hostname`, hostname) : []),
    ...(nodeName === undefined ? [] : validateDnsSubdomain(`${field}.nodeName`, nodeName)),
    ...validateNonSpecialIp(`${field}.ip`, ip),
  ]
}

function validatePort(field: string, port: EndpointPort, isNameRequired: boolean): FieldError[] {
  const { name = '', protocol, appProtocol } = port
  const errors: FieldError[] = []
  if (name !== '') errors.push(...validateDnsLabel(`${field}.name`, name))
  else if (isNameRequired) errors.push(required(`${field}.name`, ''))
  return [
    ...errors,
    ...validatePortNumber(`${field}.port`, port.port ?? 0),
    ...validateChoice(`${field}.protocol`, protocol, portProtocols),
    ...validateAppProtocol(`${field}.appProtocol`, appProtocol),
  ]
}

function warningsForEndpoints({ metadata, subsets = [] }: Endpoints): string[] {
  // The endpoints controller writes canonical addresses and needs no warnings.
  if (labelOf(metadata.labels, 'endpoints.kubernetes.io/managed-by') === 'endpoint-controller') return []
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [] }, subset) => [
    ...addresses.flatMap(({ ip }, index) => {
      return warningsForIp(`subsets[${subset}].addresses[${index}].ip`, ip ?? '')
    }),
    ...notReadyAddresses.flatMap(({ ip }, index) => {
      return warningsForIp(`subsets[${subset}].notReadyAddresses[${index}].ip`, ip ?? '')
    }),
  ])
}
