/** The API server's listener, and the host names and addresses by which it is reached. */
import { nthAddress, parseCidr } from '#/api/net/cidr.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import { Server, type ServerOptions } from '#/apiserver/server.ts'

/** Errors name the cause and a solution. */
export async function startServer(options: ServerOptions): Promise<Server> {
  try {
    return await Server.start(options)
  } catch (cause) {
    const { host, port } = options
    throw new Error(`cannot listen at ${host} port ${port}: ${whyNotListening(cause)}`, { cause })
  }
}

function whyNotListening(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return listenErrors.get(code) ?? message
}

const listenErrors: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'port already in use; set --port'],
  ['EADDRNOTAVAIL', 'address not available on this machine; set --bind'],
  ['EACCES', 'permission denied; set --port'],
])

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

/** The URL of a server that listens on `host`, from the same machine. */
export function serverUrl(host: string, port: number): string {
  const reachable = reachableHost(host)
  return `https://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** The address to reach a server that listens on `host` from the same machine. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
}
