import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Backend, BackendEndpoint } from '#/http-proxy/proxy-configuration.ts'
import { gatewayGroup } from '../gateway-api/fields.ts'
import type { BackendTlsPlan } from './backend-tls.ts'
import type { Problem } from './conditions.ts'
import type { IsPermitted } from './reference-grants.ts'
import type { GatewayWorld, References, RouteKind } from './world.ts'

export interface BackendReference {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

export interface BackendContext {
  readonly world: GatewayWorld
  readonly references: References
  readonly isPermitted: IsPermitted
  /** Those of all routes, by id. */
  readonly backends: Map<string, Backend>
  readonly kind: RouteKind
  readonly tlsOf: BackendTlsPlan['tlsOf']
  /** Keys of the Services of the route. */
  readonly routeServices: Set<string>
  /** Of the route. */
  readonly namespace: string
}

export interface ResolvedBackend {
  /** The id of the backend; undefined if requests to it must fail. */
  readonly backend?: string
  /** Why the reference cannot be resolved. */
  readonly problem?: Problem
}

export function resolveBackend(reference: BackendReference, context: BackendContext): ResolvedBackend {
  const resolved = findPort(reference, context)
  if ('reason' in resolved) return { problem: resolved }
  const { key, service, servicePort } = resolved
  const { world, backends, kind } = context
  context.routeServices.add(key)
  const tls = context.tlsOf(key, servicePort.name ?? '')
  if (tls === 'invalid') return {}
  const protocol = protocolOf(servicePort, { kind, hasTls: tls !== undefined })
  if (protocol === undefined) {
    const { port, protocol: transport = 'TCP', appProtocol } = servicePort
    const message = `port ${port} of Service ${key} has protocol ${transport}, appProtocol ${appProtocol}`
    return { problem: { reason: 'UnsupportedProtocol', message } }
  }
  const id = `gateway/${key}:${servicePort.port}/${protocol}`
  if (!backends.has(id)) {
    backends.set(id, {
      id,
      protocol,
      ...(tls && { tls }),
      endpoints: endpointsOf(service, { servicePort, slices: world.endpointSlices(key) }),
      hasClientAffinity: service.spec?.sessionAffinity === 'ClientIP',
    })
  }
  return { backend: id }
}

interface FoundPort {
  readonly key: string
  readonly service: Service
  readonly servicePort: ServicePort
}

function findPort(reference: BackendReference, context: BackendContext): FoundPort | Problem {
  const { group, kind, name, port } = reference
  const { world, references } = context
  if (group !== '' || kind !== 'Service') {
    const message = `backendRef ${name}: ${kind} of group ${group || 'core'} is not supported, use a Service`
    return { reason: 'InvalidKind', message }
  }
  const namespace = reference.namespace ?? context.namespace
  const key = `${namespace}/${name}`
  const from = { group: gatewayGroup, kind: context.kind, namespace: context.namespace }
  if (!context.isPermitted({ from, to: { group, kind, namespace, name } })) {
    const message = `backendRef to Service ${key}: no ReferenceGrant in namespace ${namespace} permits it`
    return { reason: 'RefNotPermitted', message }
  }
  references.services.add(key)
  const service = world.service(key)
  if (service === undefined) return { reason: 'BackendNotFound', message: `Service ${key} does not exist` }
  if (service.spec?.type === 'ExternalName') {
    const message = `Service ${key} is of type ExternalName, which could reach any host`
    return { reason: 'InvalidKind', message }
  }
  const servicePort = service.spec?.ports?.find(each => each.port === port)
  if (servicePort === undefined)
    return { reason: 'BackendNotFound', message: `Service ${key} has no port ${port ?? '(unset)'}` }
  return { key, service, servicePort }
}

/** https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol */
const applicationProtocols: ReadonlyMap<string, 'http1' | 'http2'> = new Map([
  ['http', 'http1'],
  ['tcp', 'http1'],
  ['kubernetes.io/ws', 'http1'],
  ['kubernetes.io/h2c', 'http2'],
  ['http2', 'http2'],
  ['grpc', 'http2'],
])

/** gRPC needs HTTP/2, whatever the Service declares. A BackendTLSPolicy says that there is TLS. */
function protocolOf(
  { protocol = 'TCP', appProtocol = 'http' }: ServicePort,
  { kind, hasTls }: { readonly kind: RouteKind; readonly hasTls: boolean },
): Backend['protocol'] | undefined {
  if (protocol !== 'TCP') return undefined
  const declared = applicationProtocols.get(appProtocol.toLowerCase())
  const isHttp2 = kind === 'GRPCRoute' || declared === 'http2'
  if (hasTls) return isHttp2 ? 'https2' : 'https1'
  return declared && (isHttp2 ? 'http2' : 'http1')
}

/** Those of one family, since a dual-stack pod has an endpoint in each; ordered by address. */
function endpointsOf(
  { spec }: Service,
  { servicePort, slices }: { readonly servicePort: ServicePort; readonly slices: readonly EndpointSlice[] },
): readonly BackendEndpoint[] {
  const primary = spec?.ipFamilies?.[0] ?? 'IPv4'
  const families = primary === 'IPv6' ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6']
  for (const family of families) {
    const ofFamily = slices.filter(({ addressType }) => addressType === family)
    const found = [...readyEndpoints(ofFamily, servicePort).entries()].sort(([a], [b]) => (a < b ? -1 : 1))
    if (found.length > 0) return found.map(([, endpoint]) => endpoint)
  }
  return []
}

/** Ready ones; if there are none, those that terminate and still serve. */
function readyEndpoints(
  slices: readonly EndpointSlice[],
  servicePort: ServicePort,
): ReadonlyMap<string, BackendEndpoint> {
  const ready = new Map<string, BackendEndpoint>()
  const leaving = new Map<string, BackendEndpoint>()
  for (const { ports = [], endpoints } of slices) {
    const own = ports.find(({ name = '', protocol = 'TCP' }) => {
      return name === (servicePort.name ?? '') && protocol === 'TCP'
    })
    if (own?.port === undefined) continue
    for (const endpoint of endpoints ?? []) {
      const address = endpoint.addresses[0]
      if (address === undefined) continue
      if (isReady(endpoint)) ready.set(`${address} ${own.port}`, { address, port: own.port })
      else if (isLeaving(endpoint)) leaving.set(`${address} ${own.port}`, { address, port: own.port })
    }
  }
  return ready.size > 0 ? ready : leaving
}

function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true
}

function isLeaving({ conditions }: Endpoint): boolean {
  return (conditions?.terminating ?? false) && (conditions?.serving ?? false)
}
