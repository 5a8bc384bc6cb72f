import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'

export interface NamedEndpoint {
  /** The endpoint's label below the service name. */
  readonly host: string
  readonly address: string
  readonly ports: readonly NamedPort[]
}

export interface NamedPort {
  readonly name: string
  /** Lower case. */
  readonly protocol: string
  readonly port: number
}

/**
 * Endpoints that are ready. Services with `publishNotReadyAddresses` have all endpoints marked as ready in
 * their slices.
 */
export function endpointsOf(slices: readonly EndpointSlice[]): readonly NamedEndpoint[] {
  const byAddress = new Map<string, NamedEndpoint>()
  for (const { endpoints = [], ports = [] } of slices) {
    const named = ports.flatMap(({ name = '', protocol = 'TCP', port }) => {
      return port === undefined ? [] : { name, protocol: protocol.toLowerCase(), port }
    })
    for (const { addresses, conditions, hostname } of endpoints) {
      const ip = parseIpLeniently(addresses[0] ?? '')
      if (ip === undefined || conditions?.ready === false) continue
      const address = formatIp(ip)
      const host = hostname || address.replaceAll(/[.:]/g, '-')
      const known = byAddress.get(address)
      byAddress.set(address, { host, address, ports: [...(known?.ports ?? []), ...named] })
    }
  }
  return [...byAddress.values()]
}
