import type { Node } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'

export interface KubeletLocation {
  readonly host: string
  readonly port: number
}

/** In order of preference, as configured by kubeadm. */
const addressTypes = ['InternalIP', 'ExternalIP', 'Hostname']

/** The kubelet address from the node status. Throws if it is missing, as for simulated nodes. */
export function locateKubelet({ metadata, status = {} }: Stored<Node>): KubeletLocation {
  const { addresses = [], daemonEndpoints } = status
  const found = addressTypes.flatMap(type => addresses.filter(each => each.type === type))[0]
  if (found === undefined) {
    const known = addresses.map(({ type, address }) => `${type} ${address}`).join(', ')
    throw new Error(`no preferred addresses found; known addresses: [${known}]`)
  }
  const port = daemonEndpoints?.kubeletEndpoint?.Port ?? 0
  if (port <= 0) throw new Error(`node ${metadata.name} has no kubelet endpoint port`)
  return { host: found.address, port }
}

/** E.g. `https://10.0.0.1:10250`; IPv6 addresses are bracketed. */
export function originOf(scheme: string, host: string, port: number | string): string {
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
