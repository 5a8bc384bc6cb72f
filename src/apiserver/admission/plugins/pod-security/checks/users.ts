/** Controls on running as root. */
import {
  containersMatching,
  describeViolators,
  describeContainers,
  unlessUserNamespace,
  type Check,
  type PodToCheck,
  type Violation,
} from '../check.ts'

function checkNonRoot(pod: PodToCheck): Violation | undefined {
  const reason = 'runAsNonRoot != true'
  const ofPod = pod.spec.securityContext?.runAsNonRoot
  const who = describeViolators(
    ofPod === false,
    containersMatching(pod, container => container.securityContext?.runAsNonRoot === false),
  )
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` }
  const silent =
    ofPod === true
      ? []
      : containersMatching(pod, container => container.securityContext?.runAsNonRoot === undefined)
  if (silent.length === 0) return undefined
  return { reason, detail: `pod or ${describeContainers(silent)} must set securityContext.runAsNonRoot=true` }
}

function checkUser(pod: PodToCheck): Violation | undefined {
  const names = containersMatching(pod, container => isRoot(container.securityContext?.runAsUser))
  const who = describeViolators(isRoot(pod.spec.securityContext?.runAsUser), names)
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` }
}

function isRoot(user: number | bigint | undefined): boolean {
  return user !== undefined && Number(user) === 0
}

export const userChecks: readonly Check[] = [
  {
    id: 'runAsNonRoot',
    level: 'restricted',
    versions: [
      { since: 0, check: checkNonRoot },
      { since: 35, check: unlessUserNamespace(checkNonRoot) },
    ],
  },
  {
    id: 'runAsUser',
    level: 'restricted',
    versions: [
      { since: 23, check: checkUser },
      { since: 35, check: unlessUserNamespace(checkUser) },
    ],
  },
]
