/** By which names and addresses the API server is reached, from the machine itself and from others. */
import { nthAddress, parseCidr } from '#/api/cidr.ts'
import { formatIp, parseIp } from '#/api/ip.ts'

export interface ServerNamesOptions {
  /** Where it listens. */
  readonly host: string
  /** Names and addresses of the machine. */
  readonly machineNames: readonly string[]
  /** Of the node, when this machine is one. */
  readonly nodeAddress: string | undefined
  readonly serviceCidrs: readonly string[]
}

/** What the server's certificate must be for. */
export function serverNames(options: ServerNamesOptions): readonly string[] {
  const { host, machineNames, nodeAddress, serviceCidrs } = options
  const hostNames = machineNames.filter(name => parseIp(name) === undefined)
  // By the first address of its range pods reach the server.
  const serviceAddresses = serviceCidrs.map(cidr => formatIp(nthAddress(parseCidr(cidr)!, 1)!))
  return [
    ...(isWildcard(host) ? machineNames : [host, ...hostNames]),
    ...(nodeAddress === undefined ? [] : [nodeAddress]),
    ...serviceAddresses,
  ]
}

/** Who listens there listens at all addresses that the machine has. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** Where a server that listens at `host` is reached from the same machine. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
}
