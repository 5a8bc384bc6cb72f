/** The endpoints of a port of a service: addresses of pods, without the service proxy between. */
import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { ServiceBackendPort } from '#/api/generated/networking/v1.ts'
import type { Backend, BackendEndpoint } from '#/http-proxy/proxy-configuration.ts'

export interface BackendTarget {
  readonly namespace: string
  readonly name: string
  readonly port: ServiceBackendPort | undefined
  readonly protocol: Backend['protocol']
}

export interface BackendSources {
  service(namespace: string, name: string): Service | undefined
  slicesOf(namespace: string, name: string): readonly EndpointSlice[]
}

export interface PlannedBackend {
  readonly backend: Backend
  /** Why it has no endpoints, although it may never get any. */
  readonly problem: { readonly reason: string; readonly message: string } | undefined
}

export function planBackend(target: BackendTarget, sources: BackendSources): PlannedBackend {
  const { namespace, name, port, protocol } = target
  const portText = String(port?.name ?? port?.number ?? '')
  const base = { id: backendId(target), protocol, hasClientAffinity: false }
  const refused = (reason: string, message: string): PlannedBackend => {
    return { backend: { ...base, endpoints: [] }, problem: { reason, message } }
  }
  const service = sources.service(namespace, name)
  if (service === undefined) return refused('MissingService', `service ${namespace}/${name} does not exist`)
  if (service.spec?.type === 'ExternalName') {
    const why = 'has the type ExternalName, which could lead anywhere: use a service with endpoints'
    return refused('ExternalNameService', `service ${namespace}/${name} ${why}`)
  }
  const servicePort = service.spec?.ports?.find(each => isWanted(each, port))
  if (servicePort === undefined)
    return refused('MissingServicePort', `service ${namespace}/${name} has no TCP port ${portText}`)
  const hasClientAffinity = service.spec?.sessionAffinity === 'ClientIP'
  const slices = sources.slicesOf(namespace, name)
  const family = service.spec?.ipFamilies?.[0]
  const endpoints = planEndpoints(slices, { portName: servicePort.name ?? '', family })
  return { backend: { ...base, endpoints, hasClientAffinity }, problem: undefined }
}

function backendId({ namespace, name, port, protocol }: BackendTarget): string {
  const suffix = protocol === 'http1' ? '' : `#${protocol}`
  return `${namespace}/${name}:${port?.name ?? port?.number ?? ''}${suffix}`
}

function isWanted({ name, port, protocol }: ServicePort, wanted: ServiceBackendPort | undefined): boolean {
  if ((protocol ?? 'TCP') !== 'TCP') return false
  return wanted?.name ? name === wanted.name : port === wanted?.number
}

interface EndpointSelection {
  readonly portName: string
  readonly family: string | undefined
}

/** Ready endpoints; without any, those that are terminating and still serve. */
function planEndpoints(
  slices: readonly EndpointSlice[],
  { portName, family }: EndpointSelection,
): readonly BackendEndpoint[] {
  const ready = new Map<string, BackendEndpoint>()
  const serving = new Map<string, BackendEndpoint>()
  for (const { addressType, endpoints = [], ports = [] } of slices) {
    if (addressType === 'FQDN' || (family !== undefined && addressType !== family)) continue
    const port = ports.find(
      each => (each.name ?? '') === portName && (each.protocol ?? 'TCP') === 'TCP',
    )?.port
    if (port === undefined) continue
    for (const endpoint of endpoints) {
      const [address] = endpoint.addresses
      if (address === undefined) continue
      const state = stateOf(endpoint)
      if (state !== undefined)
        (state === 'ready' ? ready : serving).set(`${address} ${port}`, { address, port })
    }
  }
  const chosen = ready.size > 0 ? ready : serving
  return [...chosen].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint)
}

function stateOf({ conditions }: Endpoint): 'ready' | 'serving' | undefined {
  if (conditions?.ready !== false) return 'ready'
  return conditions.serving === true && conditions.terminating === true ? 'serving' : undefined
}
