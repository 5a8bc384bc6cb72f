/**
 * The /etc/hosts of a pod. Kubernetes writes it, so that names of the pod's own and host aliases are in it whatever the
 * image brings along. The containers of a pod share the file; it is written anew before each of them is created.
 */
import type { Container, HostAlias, Pod } from '#/api/generated/core/v1.ts'
import type { PodHostname } from './pod-hostname.ts'

export interface HostsFileInput {
  readonly pod: Pod
  readonly addresses: readonly string[]
  readonly name: PodHostname
  /** The file of the node, which a pod on the node's network gets. */
  readonly nodeHosts: string
}

export function hostsFileOf({ pod, addresses, name, nodeHosts }: HostsFileInput): string {
  const aliases = aliasLines(pod.spec?.hostAliases ?? [])
  if (pod.spec?.hostNetwork) return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliases}`
  const { hostname, domain } = name
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  return `${fixedLines}${addresses.map(address => `${address}\t${names}\n`).join('')}${aliases}`
}

/** Who mounts something there himself, or has no address yet, gets none. */
export function hasHostsFile(pod: Pod, container: Container, addresses: readonly string[]): boolean {
  if (addresses.length === 0 && !pod.spec?.hostNetwork) return false
  return !container.volumeMounts?.some(({ mountPath }) => mountPath === '/etc/hosts')
}

const fixedLines = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return ''
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`)
  return `\n# Entries added by HostAliases.\n${lines.join('')}`
}
