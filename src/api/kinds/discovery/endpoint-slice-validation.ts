/** Validation of EndpointSlice. */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  internalFieldError,
  invalid,
  invalidEach,
  required,
  tooMany,
  type FieldError,
} from '../../field-error.ts'
import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '../../generated/discovery/v1.ts'
import { parseIpLeniently, validateIp, validateNonSpecialIp, validateIpForLegacyField } from '../../net/ip.ts'
import { validateLabels } from '../../labels.ts'
import { checkDns1123Subdomain, checkLabelValue, validateFullyQualifiedDomainName } from '../../names.ts'
import {
  validateChoice,
  validateDnsLabel,
  validateDnsSubdomain,
  validateOptionalChoice,
} from '../validation/field-checks.ts'
import { portProtocols, validateAppProtocol } from '../validation/ports.ts'

/** Validates everything except the endpoints. */
export function validateSlice({ addressType, ports = [] }: EndpointSlice): FieldError[] {
  return [
    ...validateChoice('addressType', addressType, enumValues('discovery.AddressType')),
    ...validatePorts('ports', ports),
  ]
}

export function validateEndpoints({ addressType, endpoints = [] }: EndpointSlice): FieldError[] {
  if (endpoints.length > endpointsMax) return [tooMany('endpoints', endpoints.length, endpointsMax)]
  return endpoints.flatMap((endpoint, index) => {
    return validateEndpoint(`endpoints[${index}]`, endpoint, addressType ?? '')
  })
}

const endpointsMax = 1_000
const addressesMax = 100
const portsMax = 20_000
const topologyLabelsMax = 16
const hintsMax = 8

function validatePorts(field: string, ports: readonly EndpointPort[]): FieldError[] {
  if (ports.length > portsMax) return [tooMany(field, ports.length, portsMax)]
  const names = new Set<string>()
  return ports.flatMap(({ name = '', protocol, appProtocol }, index) => {
    const each = `${field}[${index}]`
    const errors = name === '' ? [] : validateDnsLabel(`${each}.name`, name)
    if (names.has(name)) errors.push(duplicate(`${each}.name`, name))
    names.add(name)
    if (protocol === undefined) errors.push(required(`${each}.protocol`, ''))
    return [
      ...errors,
      ...validateOptionalChoice(`${each}.protocol`, protocol, portProtocols),
      ...validateAppProtocol(`${each}.appProtocol`, appProtocol),
    ]
  })
}

function validateEndpoint(field: string, endpoint: Endpoint, addressType: string): FieldError[] {
  const { nodeName, hostname, hints } = endpoint
  return [
    ...validateAddresses(`${field}.addresses`, endpoint.addresses ?? [], addressType),
    ...(nodeName === undefined ? [] : validateDnsSubdomain(`${field}.nodeName`, nodeName)),
    ...validateTopology(`${field}.deprecatedTopology`, endpoint.deprecatedTopology ?? {}),
    ...(hostname === undefined ? [] : validateDnsLabel(`${field}.hostname`, hostname)),
    ...(hints ? validateHints(`${field}.hints`, hints) : []),
  ]
}

function validateAddresses(field: string, addresses: readonly string[], addressType: string): FieldError[] {
  const errors: FieldError[] = []
  if (addresses.length === 0) errors.push(required(field, 'must contain at least 1 address'))
  if (addresses.length > addressesMax) errors.push(tooMany(field, addresses.length, addressesMax))
  return [
    ...errors,
    ...addresses.flatMap((address, index) => {
      return validateAddress({ list: field, index, address, addressType })
    }),
  ]
}

interface GivenAddress {
  /** Path of the list that contains the address. */
  readonly list: string
  readonly index: number
  readonly address: string
  readonly addressType: string
}

/** For an unknown address type, only the type is reported. */
function validateAddress({ list, index, address, addressType }: GivenAddress): FieldError[] {
  const field = `${list}[${index}]`
  if (addressType === 'FQDN') return validateFullyQualifiedDomainName(field, address)
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return []
  const errors =
    addressType === 'IPv4' ? validateIpForLegacyField(field, address) : validateIp(field, address)
  if (errors.length > 0) return errors
  const family = parseIpLeniently(address)?.family === 6 ? 'IPv6' : 'IPv4'
  const mismatch = family === addressType ? [] : [invalid(list, address, `must be an ${addressType} address`)]
  return [...mismatch, ...validateNonSpecialIp(field, address)]
}

const zoneLabel = 'topology.kubernetes.io/zone'

function validateTopology(field: string, topology: Readonly<Record<string, string>>): FieldError[] {
  const size = Object.keys(topology).length
  const errors = size > topologyLabelsMax ? [tooMany(field, size, topologyLabelsMax)] : []
  errors.push(...validateLabels(field, topology))
  if (!Object.hasOwn(topology, zoneLabel)) return errors
  return [
    ...errors,
    internalFieldError(`${field}[${zoneLabel}]`, 'reserved key was not removed in conversion'),
  ]
}

function validateHints(field: string, { forZones = [], forNodes = [] }: EndpointHints): FieldError[] {
  if (forZones.length > hintsMax) return [tooMany(`${field}.forZones`, forZones.length, hintsMax)]
  const errors = validateHintNames(`${field}.forZones`, forZones, checkLabelValue)
  if (forNodes.length > hintsMax) return [...errors, tooMany(`${field}.forNodes`, forNodes.length, hintsMax)]
  return [...errors, ...validateHintNames(`${field}.forNodes`, forNodes, checkDns1123Subdomain)]
}

function validateHintNames(
  field: string,
  hints: readonly { readonly name: string }[],
  check: (name: string) => readonly string[],
): FieldError[] {
  const names = hints.map(hint => hint.name ?? '')
  return names.flatMap((name, index) => [
    ...(names.indexOf(name) < index ? [duplicate(`${field}[${index}].name`, name)] : []),
    ...invalidEach(`${field}[${index}].name`, name, check(name)),
  ])
}
