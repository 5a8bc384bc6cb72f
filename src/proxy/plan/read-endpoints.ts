import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp, parseIpLeniently, type IpFamily } from '#/api/ip.ts'
import type { Backend } from '../plan.ts'

/** An endpoint for one port, as its slice tells of it. */
export interface KnownEndpoint extends Backend {
  readonly isReady: boolean
  readonly isServing: boolean
  readonly isTerminating: boolean
  readonly nodeHints: readonly string[]
  readonly zoneHints: readonly string[]
}

/**
 * The endpoints of a service by port, as `name/PROTOCOL`, in the order of their addresses. While an endpoint moves from
 * one slice to another it is in both: then it counts once, and as ready when one says so.
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

export function backendOf({ address, port, isLocal }: Backend): Backend {
  return { address, port, isLocal }
}

/** How many endpoints on this node serve, by any port. A pod with addresses of both families is one of them. */
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
  // The addresses of one endpoint are the same endpoint; consumers use the first.
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

/** Conditions that nobody has set are taken for good ones. */
function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true
}
