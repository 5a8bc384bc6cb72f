/** Controls on privileges, privilege escalation and capabilities. */
import type { Container } from '#/api/generated/core/v1.ts'
import { allContainers } from '../../pod-spec.ts'
import {
  containersMatching,
  distinct,
  quoted,
  describeContainers,
  unlessWindows,
  type Check,
  type PodToCheck,
  type Violation,
} from '../check.ts'

function checkPrivileged(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(pod, container => container.securityContext?.privileged === true)
  if (names.length === 0) return undefined
  return {
    reason: 'privileged',
    detail: `${describeContainers(names)} must not set securityContext.privileged=true`,
  }
}

function checkEscalation(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(
    pod,
    container => container.securityContext?.allowPrivilegeEscalation !== false,
  )
  if (names.length === 0) return undefined
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${describeContainers(names)} must set securityContext.allowPrivilegeEscalation=false`,
  }
}

/** Default capabilities of container runtimes, without NET_RAW. */
const usualCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

function checkAdded(pod: PodToCheck): Violation | undefined {
  const detail = addedBeyond(pod, usualCapabilities)
  return detail === undefined ? undefined : { reason: 'non-default capabilities', detail }
}

function checkDropped(pod: PodToCheck): Violation | undefined {
  const keeping = containersMatching(
    pod,
    container => !container.securityContext?.capabilities?.drop?.includes('ALL'),
  )
  const details = [
    keeping.length === 0
      ? undefined
      : `${describeContainers(keeping)} must set securityContext.capabilities.drop=["ALL"]`,
    addedBeyond(pod, new Set(['NET_BIND_SERVICE'])),
  ].filter(detail => detail !== undefined)
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

function addedBeyond(pod: PodToCheck, allowed: ReadonlySet<string>): string | undefined {
  const beyond = ({ securityContext }: Container): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter(capability => !allowed.has(capability))
  const names = containersMatching(pod, container => beyond(container).length > 0)
  if (names.length === 0) return undefined
  const capabilities = distinct(allContainers(pod.spec).flatMap(beyond))
  return `${describeContainers(names)} must not include ${quoted(capabilities)} in securityContext.capabilities.add`
}

export const privilegeChecks: readonly Check[] = [
  { id: 'privileged', level: 'baseline', versions: [{ since: 0, check: checkPrivileged }] },
  { id: 'capabilities_baseline', level: 'baseline', versions: [{ since: 0, check: checkAdded }] },
  {
    id: 'allowPrivilegeEscalation',
    level: 'restricted',
    versions: [
      { since: 8, check: checkEscalation },
      { since: 25, check: unlessWindows(checkEscalation) },
    ],
  },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    versions: [
      { since: 22, check: checkDropped, overrides: 'capabilities_baseline' },
      { since: 25, check: unlessWindows(checkDropped), overrides: 'capabilities_baseline' },
    ],
  },
]
