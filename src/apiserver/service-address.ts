/**
 * Resolves a Service to the address of one of its ready endpoints, because the API server is not always part
 * of the cluster network. A Service without EndpointSlices resolves to its cluster IP, an ExternalName
 * Service to its external name.
 */
import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Random } from '#/platform/platform.ts'
import type { Registry } from './registry/registry.ts'
import { getCached, listCached } from './admission/lookup.ts'

export interface ServiceName {
  readonly namespace: string
  readonly name: string
  readonly port: number
}

/** `host:port`. Throws if the service cannot be resolved. */
export function addressOfService(
  objects: Pick<Registry, 'cache'>,
  random: Random,
  { namespace, name, port }: ServiceName,
): string {
  const service = getCached(objects, services, { namespace, name })
  if (service === undefined) throw new Error(`service ${quote(name)} not found`)
  const { type = 'ClusterIP', externalName = '', clusterIP = '' } = service.spec ?? {}
  if (type === 'ExternalName') return hostAndPort(externalName, port)
  const servicePort = portOf(service, port)
  const slices = listCached(objects, endpointSlices, namespace).filter(
    ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name,
  )
  const endpoint = chooseEndpoint(random, preferred(service, slices), servicePort.name ?? '')
  if (endpoint) return endpoint
  if (slices.length > 0 || clusterIP === '' || clusterIP === 'None')
    throw new Error(`no endpoints available for service ${quote(name)}`)
  return hostAndPort(clusterIP, port)
}

function portOf(service: Stored<Service>, port: number): ServicePort {
  const found = service.spec?.ports?.find(each => each.port === port)
  if (found) return found
  throw new Error(`no service port ${port} found for service ${quote(service.metadata.name)}`)
}

/** EndpointSlices of the service's first IP family come first. */
function preferred({ spec }: Service, slices: readonly EndpointSlice[]): readonly EndpointSlice[] {
  const family = spec?.ipFamilies?.[0]
  return slices.toSorted((a, b) => Number(b.addressType === family) - Number(a.addressType === family))
}

function chooseEndpoint(
  random: Random,
  slices: readonly EndpointSlice[],
  portName: string,
): string | undefined {
  for (const { ports = [], endpoints = [] } of slices) {
    const port = ports.find(each => (each.name ?? '') === portName)?.port
    const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false)
    if (port === undefined || ready.length === 0) continue
    const [address] = ready[random.integer('webhook endpoint', ready.length)]!.addresses
    if (address) return hostAndPort(address, port)
  }
  return undefined
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
