import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { DescribeContext } from '../describer.ts'
import { endpointSlices } from '../related-resources.ts'
import { joinHostPort } from './probe.ts'

/** The slices of a Service. */
export async function listEndpointSlices(
  service: { readonly namespace: string | undefined; readonly name: string },
  { client }: Pick<DescribeContext, 'client'>,
): Promise<readonly EndpointSlice[]> {
  const { namespace, name } = service
  const labelSelector = `kubernetes.io/service-name=${name}`
  return (await client.list(endpointSlices, { namespace, labelSelector })).items
}

/** `10.0.0.1:80,10.0.0.2:80`: the ready endpoints of a port, of which the first three are shown. */
export function endpointAddresses(slices: readonly EndpointSlice[], portName: string): string {
  if (slices.length === 0) return '<none>'
  const endpoints = slices.flatMap(slice => addressesOf(slice, portName))
  const ready = endpoints.filter(({ isReady }) => isReady)
  const shown = ready.slice(0, shownMax)
  const text = shown.map(({ address }) => address).join(',')
  const lastShown = shown.length === shownMax ? endpoints.indexOf(shown[shownMax - 1]!) : endpoints.length
  // Also endpoints that are not ready count as more, but not in the number.
  return lastShown < endpoints.length - 1 ? `${text} + ${ready.length - shownMax} more...` : text
}

const shownMax = 3

interface Address {
  readonly address: string
  readonly isReady: boolean
}

function addressesOf({ ports, endpoints }: EndpointSlice, portName: string): Address[] {
  const all = endpoints ?? []
  // A headless Service may have no ports.
  if (!ports || ports.length === 0) return all.map(endpoint => addressOf(endpoint, undefined))
  return ports
    .filter(({ name }) => (name ?? '') === portName)
    .flatMap(({ port }) => all.map(endpoint => addressOf(endpoint, port ?? 0)))
}

function addressOf({ addresses, conditions }: Endpoint, port: number | undefined): Address {
  const [host = ''] = addresses
  const address = port === undefined ? host : joinHostPort(host, port)
  return { address, isReady: conditions?.ready ?? true }
}
