/** Controls on kernel interfaces. */
import type { Container } from '#/api/generated/core/v1.ts'
import { allContainers } from '../../pod-spec.ts'
import {
  containersMatching,
  distinct,
  quoted,
  describeContainers,
  unlessUserNamespace,
  type Check,
  type CheckPod,
  type PodToCheck,
  type Violation,
} from '../check.ts'

function checkProcMount(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(pod, container => otherMount(container) !== undefined)
  if (names.length === 0) return undefined
  const mounts = distinct(allContainers(pod.spec).flatMap(container => otherMount(container) ?? []))
  return {
    reason: 'procMount',
    detail: `${describeContainers(names)} must not set securityContext.procMount to ${quoted(mounts)}`,
  }
}

function otherMount({ securityContext }: Container): string | undefined {
  const { procMount } = securityContext ?? {}
  return procMount === 'Default' ? undefined : procMount
}

function checkSysctls(names: readonly string[]): CheckPod {
  const allowed = new Set(names)
  return ({ spec }) => {
    const { sysctls = [] } = spec.securityContext ?? {}
    const forbidden = sysctls.map(sysctl => sysctl.name).filter(name => !allowed.has(name))
    return forbidden.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: forbidden.join(', ') }
  }
}

/** Sysctls that are namespaced per pod; later versions allow more. */
const sysctls0 = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]
const sysctls27 = [...sysctls0, 'net.ipv4.ip_local_reserved_ports']
const sysctls29 = [
  ...sysctls27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
]
const sysctls32 = [...sysctls29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']

export const kernelChecks: readonly Check[] = [
  {
    id: 'procMount',
    level: 'baseline',
    versions: [
      { since: 0, check: checkProcMount },
      { since: 35, check: unlessUserNamespace(checkProcMount) },
    ],
  },
  {
    id: 'procMount_restricted',
    level: 'restricted',
    versions: [{ since: 35, check: checkProcMount, overrides: 'procMount' }],
  },
  {
    id: 'sysctls',
    level: 'baseline',
    versions: [
      { since: 0, check: checkSysctls(sysctls0) },
      { since: 27, check: checkSysctls(sysctls27) },
      { since: 29, check: checkSysctls(sysctls29) },
      { since: 32, check: checkSysctls(sysctls32) },
    ],
  },
]
