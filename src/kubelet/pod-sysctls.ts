/**
 * Sysctls of a pod. Only safe ones are admitted, unless the node allows more.
 * https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'

/** Names in dotted form. */
export function sysctlsOf(pod: Pod): Readonly<Record<string, string>> {
  const { sysctls = [] } = pod.spec?.securityContext ?? {}
  return Object.fromEntries(sysctls.map(({ name, value }) => [normalized(name), value]))
}

/** Message of a `SysctlForbidden` rejection; undefined if the sysctls are allowed. */
export function forbiddenSysctl(pod: Pod, allowedUnsafe: readonly string[]): string | undefined {
  for (const name of Object.keys(sysctlsOf(pod))) {
    const problem = problemOf(pod, name, allowedUnsafe)
    if (problem !== undefined) return `forbidden sysctl: ${quote(name)} ${problem}`
  }
  return undefined
}

/** All of them are namespaced in every supported kernel. */
const safe: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
])

function problemOf(pod: Pod, name: string, allowedUnsafe: readonly string[]): string | undefined {
  const isAllowed = safe.has(name) || allowedUnsafe.some(pattern => matches(name, normalized(pattern)))
  const namespace = namespaceOf(name)
  if (!isAllowed || namespace === undefined) return 'not allowlisted'
  const { hostIPC = false, hostNetwork = false } = pod.spec ?? {}
  const isHosts = namespace === 'IPC' ? hostIPC : hostNetwork
  return isHosts ? `not allowed with host ${namespace} enabled` : undefined
}

function matches(name: string, pattern: string): boolean {
  const star = pattern.indexOf('*')
  return star === -1 ? name === pattern : name.startsWith(pattern.slice(0, star))
}

/** Undefined for sysctls that are not namespaced. */
function namespaceOf(name: string): 'IPC' | 'Net' | undefined {
  if (name.startsWith('net.')) return 'Net'
  const isShared = name === 'kernel.sem' || /^(?:kernel\.(?:shm|msg)|fs\.mqueue\.)/.test(name)
  return isShared ? 'IPC' : undefined
}

/** In the slash form `net/ipv4/tcp_rmem`, a dot is part of a name. */
function normalized(name: string): string {
  const [separator] = /[./]/.exec(name) ?? []
  if (separator !== '/') return name
  return name.replace(/[./]/g, character => (character === '/' ? '.' : '/'))
}
