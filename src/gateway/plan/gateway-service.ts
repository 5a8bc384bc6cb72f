/**
 * The Service of a Gateway: it has the address of the Gateway, and its EndpointSlice leads to the ports of
 * the node that the reverse proxy listens on for this Gateway. Names and labels:
 * https://gateway-api.sigs.k8s.io/geps/gep-1762/
 */
import { createHash } from 'node:crypto'
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { controllerReference, type OwnerReference, type Stored } from '#/api/metadata.ts'
import { parseIp } from '#/api/net/ip.ts'
import type { Gateway } from '../gateway-api/gateway.ts'

const gatewayNameLabel = 'gateway.networking.k8s.io/gateway-name'

const manager = 'gateway-controller.k8ts.io'

const serviceLabels = { 'app.kubernetes.io/managed-by': manager } as const

/** True for Services that `planGatewayService` has planned. */
export function isGatewayService({ metadata }: Service): boolean {
  return metadata.labels?.['app.kubernetes.io/managed-by'] === manager
}

export function isGatewaySlice({ metadata }: EndpointSlice): boolean {
  return metadata.labels?.['endpointslice.kubernetes.io/managed-by'] === manager
}

/** A port of a Gateway and the port of the node that the proxy listens on for it. */
export interface PortMapping {
  readonly port: number
  readonly nodePort: number
}

export interface GatewayServicePlan {
  readonly service: Service
  /** Without ownerReferences: the owner is the Service. */
  readonly endpointSlice: EndpointSlice
}

/** Where the reverse proxy listens for a Gateway. */
export interface ProxyLocation {
  readonly ports: readonly PortMapping[]
  readonly nodeAddress: string
  readonly nodeName: string | undefined
}

export function planGatewayService(
  gateway: Stored<Gateway>,
  { ports, nodeAddress, nodeName }: ProxyLocation,
): GatewayServicePlan {
  const { name: gatewayName, namespace } = gateway.metadata
  const name = gatewayServiceName(gateway)
  const { labels: ownLabels, annotations } = gateway.spec.infrastructure ?? {}
  const labels = { ...ownLabels, [gatewayNameLabel]: shortened(gatewayName) }
  const family = parseIp(nodeAddress)?.family === 6 ? 'IPv6' : 'IPv4'
  const requested = requestedAddresses(gateway)[0]
  const metadata = {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(annotations && { annotations }),
  }
  return {
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        ...metadata,
        labels: { ...labels, ...serviceLabels },
        ownerReferences: [ownerReference(gateway)],
      },
      spec: {
        type: 'LoadBalancer',
        allocateLoadBalancerNodePorts: false,
        // The proxy sees the addresses of clients. Only its node has an endpoint.
        ...(nodeName !== undefined && { externalTrafficPolicy: 'Local' }),
        ipFamilies: [family],
        ...(requested !== undefined && { loadBalancerIP: requested }),
        ports: ports.map(({ port }) => ({ name: portName(port), port, protocol: 'TCP' })),
      },
    },
    endpointSlice: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        ...metadata,
        labels: {
          ...labels,
          'kubernetes.io/service-name': name,
          'endpointslice.kubernetes.io/managed-by': manager,
        },
      },
      addressType: family,
      ports: ports.map(({ port, nodePort }) => ({ name: portName(port), port: nodePort, protocol: 'TCP' })),
      endpoints: [
        {
          addresses: [nodeAddress],
          conditions: { ready: true },
          ...(nodeName !== undefined && { nodeName }),
        },
      ],
    },
  }
}

/** The ports that an EndpointSlice of a Gateway records, by port of the Gateway. */
export function recordedPorts({ ports }: EndpointSlice): readonly PortMapping[] {
  return (ports ?? []).flatMap(({ name = '', port }) => {
    const gatewayPort = Number(/^port-(\d{1,5})$/.exec(name)?.[1])
    return Number.isNaN(gatewayPort) || port === undefined ? [] : [{ port: gatewayPort, nodePort: port }]
  })
}

/** `<gateway>-<class>`, as far as a Service can have this name. */
export function gatewayServiceName({ metadata, spec }: Stored<Gateway>): string {
  return shortened(`${metadata.name}-${spec.gatewayClassName}`)
}

/** Values of addresses of type IPAddress that are requested. */
export function requestedAddresses({ spec }: Gateway): readonly string[] {
  return (spec.addresses ?? []).flatMap(({ type, value }) => {
    return type === 'IPAddress' && value !== undefined && value !== '' ? [value] : []
  })
}

/** Length of a DNS label. */
const lengthMax = 63
const digestLength = 10

/** A name as a DNS label that begins with a letter; another name gives another label. */
function shortened(name: string): string {
  const label = name.replaceAll('.', '-')
  const begun = /^[a-z]/.test(label) ? label : `gateway-${label}`
  if (begun === name && name.length <= lengthMax) return name
  const digest = createHash('sha256').update(name).digest('hex').slice(0, digestLength)
  return `${begun.slice(0, lengthMax - digestLength - 1).replace(/-+$/, '')}-${digest}`
}

function portName(port: number): string {
  return `port-${port}`
}

function ownerReference(gateway: Stored<Gateway>): OwnerReference {
  return controllerReference({
    ...gateway,
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
  })
}
