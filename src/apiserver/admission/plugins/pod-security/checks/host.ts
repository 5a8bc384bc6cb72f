/** Controls on access to the host. */
import type { Container, LifecycleHandler, Probe } from '#/api/generated/core/v1.ts'
import { allContainers } from '../../pod-spec.ts'
import {
  containersMatching,
  distinct,
  plural,
  quoted,
  describeViolators,
  describeContainers,
  type Check,
  type PodToCheck,
  type Violation,
} from '../check.ts'

function checkNamespaces({ spec }: PodToCheck): Violation | undefined {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter(field => spec[field] === true)
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map(field => `${field}=true`).join(', ') }
}

function checkPathVolumes({ spec }: PodToCheck): Violation | undefined {
  const names = (spec.volumes ?? [])
    .filter(volume => volume.hostPath !== undefined)
    .map(volume => volume.name)
  if (names.length === 0) return undefined
  return { reason: 'hostPath volumes', detail: `${plural(names.length, 'volume')} ${quoted(names)}` }
}

function checkPorts(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(pod, container => portsOf(container).length > 0)
  if (names.length === 0) return undefined
  const ports = distinct(allContainers(pod.spec).flatMap(portsOf).map(String))
  const uses = `${plural(names.length, 'uses', 'use')} ${plural(ports.length, 'hostPort')} ${ports.join(', ')}`
  return { reason: 'hostPort', detail: `${describeContainers(names)} ${uses}` }
}

function portsOf({ ports = [] }: Container): readonly number[] {
  return ports.flatMap(port => (port.hostPort ? [port.hostPort] : []))
}

function checkProbes(pod: PodToCheck): Violation | undefined {
  const names = distinct(containersMatching(pod, container => hostsOf(container).length > 0))
  if (names.length === 0) return undefined
  const hosts = distinct(allContainers(pod.spec).flatMap(hostsOf))
  const reason = 'probe or lifecycle host'
  const uses = `${plural(names.length, 'uses', 'use')} ${plural(hosts.length, reason)} ${quoted(hosts)}`
  return { reason, detail: `${describeContainers(names)} ${uses}` }
}

/** Explicit hosts of probes and lifecycle handlers; unset means the pod's own IP. */
function hostsOf({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container): readonly string[] {
  const handlers: readonly (Probe | LifecycleHandler | undefined)[] = [
    livenessProbe,
    readinessProbe,
    startupProbe,
    lifecycle?.postStart,
    lifecycle?.preStop,
  ]
  return handlers
    .flatMap(handler => [handler?.httpGet?.host ?? '', handler?.tcpSocket?.host ?? ''])
    .filter(host => host !== '')
}

function checkProcess(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(
    pod,
    container => container.securityContext?.windowsOptions?.hostProcess === true,
  )
  const who = describeViolators(pod.spec.securityContext?.windowsOptions?.hostProcess === true, names)
  return who === ''
    ? undefined
    : { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` }
}

export const hostChecks: readonly Check[] = [
  { id: 'hostNamespaces', level: 'baseline', versions: [{ since: 0, check: checkNamespaces }] },
  { id: 'hostPathVolumes', level: 'baseline', versions: [{ since: 0, check: checkPathVolumes }] },
  { id: 'hostPorts', level: 'baseline', versions: [{ since: 0, check: checkPorts }] },
  { id: 'hostProbesAndHostLifecycle', level: 'baseline', versions: [{ since: 34, check: checkProbes }] },
  { id: 'windowsHostProcess', level: 'baseline', versions: [{ since: 0, check: checkProcess }] },
]
