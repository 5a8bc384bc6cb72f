/** The host names and addresses of the API server. */
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'

export interface CertSansOptions {
  /** The address to listen on. */
  readonly host: string
  /** Host names and addresses of the machine. */
  readonly machineNames: readonly string[]
  /** Set when this machine is the node. */
  readonly nodeAddress: string | undefined
  readonly serviceCidrs: readonly string[]
}

/** The subject alternative names of the server's certificate. */
export function apiServerCertSans(options: CertSansOptions): readonly string[] {
  const { host, machineNames, nodeAddress, serviceCidrs } = options
  const hostNames = machineNames.filter(name => parseIp(name) === undefined)
  // The first address of each service CIDR is the cluster IP of the `kubernetes` service.
  const serviceAddresses = serviceCidrs.map(cidr => formatIp(nthAddress(parseCidr(cidr)!, 1)!))
  return [
    ...(isWildcard(host) ? machineNames : [host, ...hostNames]),
    ...(nodeAddress === undefined ? [] : [nodeAddress]),
    ...serviceAddresses,
  ]
}

/** True if the host means all addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** The address to reach a server that listens on `host` from the same machine. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
}
