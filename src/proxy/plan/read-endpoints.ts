import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp, parseIpLeniently, type IpFamily } from '#/api/net/ip.ts'
import type { ServiceEndpoint } from '../plan.ts'

/** One port of an endpoint, from its slice. */
export interface KnownEndpoint extends ServiceEndpoint {
  readonly isReady: boolean
  readonly isServing: boolean
  readonly isTerminating: boolean
  readonly nodeHints: readonly string[]
  readonly zoneHints: readonly string[]
}

/**
 * The endpoints of a service by port (`name/PROTOCOL`), sorted by address. An endpoint that is moved between
 * slices may be in both: it is used once, and is ready if either slice marks it as ready.
 */
export function readEndpoints(
  slices: readonly EndpointSlice[],
  { family, nodeName }: { readonly family: IpFamily; readonly nodeName: string },
): ReadonlyMap<string, readonly KnownEndpoint[]> {
  const byPort = new Map<string, Map<string, KnownEndpoint>>()
  for (const slice of slices) {
    if (slice.addressType !== `IPv${family}`) continue
    for (const { name = '', protocol = 'TCP', port } of slice.ports ?? []) {
      if (port === undefined) continue
      const known = byPort.get(`${name}/${protocol}`) ?? new Map<string, KnownEndpoint>()
      byPort.set(`${name}/${protocol}`, known)
      for (const endpoint of slice.endpoints ?? []) {
        const read = readEndpoint(endpoint, { family, nodeName, port })
        const at = read && `${read.address} ${read.port}`
        if (at !== undefined && !known.get(at)?.isReady) known.set(at, read!)
      }
    }
  }
  const sorted = [...byPort].map(([port, known]) => {
    return [port, [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint)] as const
  })
  return new Map(sorted)
}

export function endpointOf({ address, port, isLocal }: ServiceEndpoint): ServiceEndpoint {
  return { address, port, isLocal }
}

/** Number of ready endpoints on this node, on any port. Dual-stack pods count once. */
export function localReadyCount(slices: readonly EndpointSlice[], nodeName: string): number {
  const counts = Map.groupBy(slices, ({ addressType }) => addressType)
    .values()
    .map(own => {
      const endpoints = own.flatMap(slice => slice.endpoints ?? [])
      const ready = endpoints.filter(endpoint => endpoint.nodeName === nodeName && isReady(endpoint))
      return new Set(ready.map(({ addresses: [address] }) => address)).size
    })
  return Math.max(0, ...counts)
}

function readEndpoint(
  endpoint: Endpoint,
  { family, nodeName, port }: { readonly family: IpFamily; readonly nodeName: string; readonly port: number },
): KnownEndpoint | undefined {
  // All addresses belong to the same endpoint; consumers use the first.
  const ip = parseIpLeniently(endpoint.addresses[0] ?? '')
  if (ip?.family !== family) return undefined
  const { conditions = {}, hints = {} } = endpoint
  return {
    address: formatIp(ip),
    port,
    isLocal: endpoint.nodeName === nodeName,
    isReady: isReady(endpoint),
    isServing: conditions.serving ?? true,
    isTerminating: conditions.terminating ?? false,
    nodeHints: (hints.forNodes ?? []).map(({ name }) => name),
    zoneHints: (hints.forZones ?? []).map(({ name }) => name),
  }
}

/** A missing condition means ready. */
function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true
}
