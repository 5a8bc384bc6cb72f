/** The `kubernetes` Service through which pods reach the API server, with its Endpoints and EndpointSlice. */
import type { JsonObject } from '#/api/apply.ts'
import { formatIp } from '#/api/net/ip.ts'
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { applyPatch } from '#/api/patch.ts'

export interface ServiceOptions {
  /** Service CIDRs, one per IP family, the default family first. */
  readonly serviceCidrs: readonly string[]
  /** Address at which pods reach this API server. */
  readonly advertiseAddress: string
  readonly port: number
}

export function kubernetesService({
  serviceCidrs: [serviceCidr],
  advertiseAddress,
  port,
}: ServiceOptions): readonly KubernetesObject[] {
  const range = parseCidr(serviceCidr ?? '')
  const clusterIP = range && formatIp(nthAddress(range, 1)!)
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const service = {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name: 'kubernetes', namespace: 'default', labels },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
      sessionAffinity: 'None',
    },
  }
  const endpoints = {
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    },
    subsets: [{ addresses: [{ ip: advertiseAddress }], ports: [{ name: 'https', port, protocol: 'TCP' }] }],
  }
  const slice = {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'kubernetes' },
    },
    addressType: advertiseAddress.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [advertiseAddress], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  }
  // Endpoints must not be loopback addresses, which pods could not reach.
  return isLoopback(advertiseAddress) ? [service] : [service, endpoints, slice]
}

/**
 * Updates the ports and addresses of the stored object and leaves everything else unchanged. A slice with
 * another addressType is left as is, because that field is immutable.
 */
export function withOwnAddress(stored: KubernetesObject, own: KubernetesObject): KubernetesObject {
  const { kind: _kind, apiVersion: _apiVersion, metadata: _metadata, spec, addressType, ...rest } = own as Own
  if (addressType !== undefined && addressType !== (stored as Own).addressType) return stored
  const said = { ...rest, ...(spec && { spec: { ports: spec.ports } }) }
  return objectOf(applyPatch('merge', { current: jsonOf(stored), patch: said }) as JsonObject)
}

interface Own extends KubernetesObject {
  readonly spec?: { readonly ports: JsonValue }
  readonly addressType?: string
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
