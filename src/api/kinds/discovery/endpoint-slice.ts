/** Rules of EndpointSlice. */
import { mapCopyOnWrite, withField, withMissing, withoutField } from '../../copy-on-write.ts'
import type { Endpoint, EndpointSlice } from '../../generated/discovery/v1.ts'
import { warningsForIp } from '../../net/ip.ts'
import type { KindRules } from '../../kind-rules.ts'
import { labelOf } from '../../labels.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { validateEndpoints, validateSlice } from './endpoint-slice-validation.ts'

export const endpointSliceRules: KindRules<EndpointSlice> = {
  validatesMetadataOnce: true,
  withDefaults: slice =>
    withField(slice, 'ports', ports => {
      return mapCopyOnWrite(ports, port => withMissing(port, { name: '', protocol: 'TCP' }))
    }),
  prepareForCreate: slice => withoutTopology(slice, undefined),
  prepareForUpdate: withoutTopology,
  validate: slice => [...validateSlice(slice), ...validateEndpoints(slice)],
  validateUpdate: (slice, old) => {
    const errors = validateEndpoints(slice)
    // Unchanged endpoints are not validated again: rules may have become stricter since.
    const isKnown = errors.length > 0 && semanticEqual(slice.endpoints, old.endpoints)
    return [
      ...validateSlice(slice),
      ...(isKnown ? [] : errors),
      ...validateImmutable(slice.addressType ?? '', old.addressType ?? '', 'addressType'),
    ]
  },
  warnings: warningsForSlice,
  tracksGeneration: true,
  generationCounts: 'labels',
}

const hostnameLabel = 'kubernetes.io/hostname'

/**
 * Drops `deprecatedTopology`. If a client sets the hostname label there for a node that the old object had
 * there, it becomes `nodeName`.
 */
function withoutTopology(slice: EndpointSlice, old: EndpointSlice | undefined): EndpointSlice {
  if (old !== undefined && semanticEqual(slice.endpoints, old.endpoints)) return slice
  const known = new Set(old?.endpoints?.map(endpoint => labelOf(endpoint.deprecatedTopology, hostnameLabel)))
  const withoutLabels = (endpoint: Endpoint): Endpoint => {
    const nodeName = labelOf(endpoint.deprecatedTopology, hostnameLabel)
    const left = withoutField(endpoint, 'deprecatedTopology')
    const isNode = nodeName && known.has(nodeName) && checkDns1123Subdomain(nodeName).length === 0
    return isNode ? withMissing<Endpoint>(left, { nodeName }) : left
  }
  return withField(slice, 'endpoints', endpoints => mapCopyOnWrite(endpoints, withoutLabels))
}

const ownControllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']

function warningsForSlice(slice: EndpointSlice, old: EndpointSlice | undefined): string[] {
  const isNewName = old === undefined && slice.addressType === 'FQDN'
  const warnings = isNewName ? ['spec.addressType: FQDN endpoints are deprecated'] : []
  // The endpoint slice controllers write canonical addresses and need no warnings.
  const manager = labelOf(slice.metadata.labels, 'endpointslice.kubernetes.io/managed-by') ?? ''
  if (ownControllers.includes(manager)) return warnings
  return [
    ...warnings,
    ...(slice.endpoints?.flatMap(({ addresses }, endpoint) => {
      return (
        addresses?.flatMap((ip, index) => warningsForIp(`endpoints[${endpoint}].addresses[${index}]`, ip)) ??
        []
      )
    }) ?? []),
  ]
}
