/** Decides the `Available` condition of an APIService of an extension server as far as the cluster's objects tell. */
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { ServiceName } from '../service-address.ts'

export interface Availability {
  /** `True` or `False`. */
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface ServiceState {
  readonly reference: ServiceName
  /** Undefined if it does not exist. */
  readonly service: Service | undefined
  /** The EndpointSlices of the service. */
  readonly slices: readonly EndpointSlice[]
}

/** Undefined if only a request to the server can tell. */
export function planAvailability({ reference, service, slices }: ServiceState): Availability | undefined {
  const { namespace, name, port } = reference
  const subject = `service/${name} in ${quote(namespace)}`
  if (service === undefined) return unavailable('ServiceNotFound', `${subject} is not present`)
  // Other services lead out of the cluster or to ports that the cluster does not know.
  if (service.spec?.type !== 'ClusterIP') return undefined
  const servicePort = service.spec.ports?.find(each => each.port === port)
  if (servicePort === undefined) {
    return unavailable('ServicePortError', `${subject} is not listening on port ${port}`)
  }
  if (slices.length === 0)
    return unavailable('EndpointsNotFound', `cannot find endpointslices for ${subject}`)
  const portName = servicePort.name ?? ''
  if (slices.some(slice => hasReadyEndpoint(slice, portName))) return undefined
  const message = `endpointslices for ${subject} have no addresses with port name ${quote(portName)}`
  return unavailable('MissingEndpoints', message)
}

export const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' }

export function failedDiscoveryCheck(message: string): Availability {
  return unavailable('FailedDiscoveryCheck', message)
}

function unavailable(reason: string, message: string): Availability {
  return { status: 'False', reason, message }
}

function hasReadyEndpoint({ endpoints, ports }: EndpointSlice, portName: string): boolean {
  const isReady = (endpoints ?? []).some(({ conditions }) => conditions?.ready ?? true)
  return isReady && (ports ?? []).some(({ name, port }) => (name ?? '') === portName && port !== undefined)
}
