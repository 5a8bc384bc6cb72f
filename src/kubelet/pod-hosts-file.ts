/**
 * The /etc/hosts of a pod. The kubelet manages it, so that it contains the pod's hostname and host aliases
 * whatever the image contains. The containers of a pod share the file; it is rewritten before each container
 * is created.
 */
import type { Container, HostAlias, Pod } from '#/api/generated/core/v1.ts'
import type { PodHostname } from './pod-hostname.ts'

export interface HostsFileInput {
  readonly pod: Pod
  readonly addresses: readonly string[]
  readonly name: PodHostname
  /** The node's /etc/hosts, the base for pods with `hostNetwork`. */
  readonly nodeHosts: string
}

export function hostsFileOf({ pod, addresses, name, nodeHosts }: HostsFileInput): string {
  const aliases = aliasLines(pod.spec?.hostAliases ?? [])
  if (pod.spec?.hostNetwork) return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliases}`
  const { hostname, domain } = name
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`
  return `${fixedLines}${addresses.map(address => `${address}\t${names}\n`).join('')}${aliases}`
}

/** False if the container mounts its own /etc/hosts or the pod has no IP yet. */
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
