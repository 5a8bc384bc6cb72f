import { conditionOf } from '#/api/conditions.ts'
import { claimsOf } from '#/api/core/pod-volumes.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Cause } from '../diagnosis.ts'
import { eventWith, type Snapshot } from '../collect/snapshot.ts'
import { isReady } from '../collect/relevant-pods.ts'
import { diagnoseClaim } from './claim.ts'
import { diagnoseContainer, diagnoseLog, type ContainerOfPod } from './containers.ts'
import { diagnoseDeletion, isOverdue } from './deletion.ts'
import { diagnoseIngressPolicies } from './network-policy.ts'
import { diagnoseNodeOf } from './node.ts'
import {
  ageOf,
  healthy,
  kubectl,
  nameOf,
  ofCondition,
  ofEvent,
  ofObject,
  remedy,
  trimmed,
  whyCommand,
} from './phrases.ts'
import { diagnoseScheduling } from './scheduling.ts'

/** Why a pod is not running and ready, or not gone. */
export function diagnosePod(snapshot: Snapshot, pod: Stored<Pod>): Cause {
  if (isBeingDeleted(pod)) return diagnoseTermination(snapshot, pod)
  const { phase, reason, message } = pod.status ?? {}
  if (phase === 'Succeeded')
    return healthy(`${nameOf(pod)} has completed.`, [ofObject(pod, 'status.phase is Succeeded')])
  if (phase === 'Failed' && reason) return evicted(pod, { reason, message: message ?? '' })
  if (!pod.spec?.nodeName) return claimCause(snapshot, pod) ?? diagnoseScheduling(snapshot, pod)
  if (phase !== 'Failed') {
    const node = diagnoseNodeOf(snapshot, pod)
    if (node) return node
  }
  const containers = containersOf(pod)
  for (const container of containers) {
    const cause = diagnoseContainer(snapshot, container)
    if (cause) return cause
  }
  if (isReady(pod)) return ofReady(snapshot, pod, containers)
  return notStarted(snapshot, pod) ?? gateCause(pod)
}

function containersOf(pod: Stored<Pod>): readonly ContainerOfPod[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  return [
    ...initContainerStatuses.map(status => ({ pod, status, isInit: true })),
    ...containerStatuses.map(status => ({ pod, status, isInit: false })),
  ]
}

function ofReady(snapshot: Snapshot, pod: Stored<Pod>, containers: readonly ContainerOfPod[]): Cause {
  for (const container of containers) {
    const cause = diagnoseLog(snapshot, container)
    const heading = `${nameOf(pod)} is running and ready, but its log tells of a failure`
    if (cause) return { ...cause, summary: `${heading}: ${cause.summary}` }
  }
  const ports = (pod.spec?.containers ?? []).flatMap(({ ports: list = [] }) =>
    list.map(each => each.containerPort),
  )
  const blocked = diagnoseIngressPolicies(snapshot, { subject: nameOf(pod), pods: [pod], ports })
  if (blocked) return blocked
  const restarts = containers.reduce((sum, { status }) => sum + status.restartCount, 0)
  const last = containers.map(({ status }) => status).find(({ lastState }) => lastState?.terminated)
  const { exitCode, reason = '', finishedAt } = last?.lastState?.terminated ?? {}
  const age = ageOf(finishedAt, snapshot.nowMs) ?? 'some time'
  return healthy(`${nameOf(pod)} is running and ready.`, [
    ofObject(pod, `condition Ready is True, on Node ${pod.spec?.nodeName ?? ''}`),
    ...(last
      ? [
          ofObject(
            pod,
            `${restarts} restarts; container ${last.name} last exited with code ${exitCode} (${reason}) ${age} ago`,
          ),
        ]
      : []),
  ])
}

function evicted(
  pod: Stored<Pod>,
  { reason, message }: { readonly reason: string; readonly message: string },
): Cause {
  const { namespace, name } = pod.metadata
  const why = trimmed(message)
  return {
    code: 'Evicted',
    summary: `${nameOf(pod)} has failed (${reason})${why === '' ? '' : `: ${why}`}.`,
    evidence: [ofObject(pod, `status.reason is ${reason}, status.message is ${message}`)],
    remedies: [
      remedy(
        'Its controller has created another pod, if it has one. Delete this one:',
        kubectl(namespace, 'delete', 'pod', name),
      ),
    ],
  }
}

function claimCause(snapshot: Snapshot, pod: Stored<Pod>): Cause | undefined {
  const { claims } = snapshot
  if (claims === undefined) return undefined
  for (const { name, isEphemeral } of claimsOf(pod)) {
    const claim = claims.find(({ metadata }) => metadata.name === name)
    if (claim === undefined) {
      if (isEphemeral) continue
      const { namespace } = pod.metadata
      return {
        code: 'MissingObject',
        summary: `${nameOf(pod)} is not scheduled, since PersistentVolumeClaim ${name}, which it uses, does not exist.`,
        evidence: schedulingEvidence(pod),
        remedies: [
          remedy(
            'See the claims; create it, or correct the name:',
            kubectl(namespace, 'get', 'persistentvolumeclaims'),
          ),
        ],
      }
    }
    const cause = claim.status?.phase === 'Bound' ? undefined : diagnoseClaim(snapshot, claim)
    // A claim that waits for this pod is not what the pod waits for.
    if (cause === undefined || cause.summary.includes(`waits for ${nameOf(pod)}`)) continue
    return {
      ...cause,
      summary: `${nameOf(pod)} is not scheduled: ${cause.summary}`,
      evidence: [...schedulingEvidence(pod), ...cause.evidence],
    }
  }
  return undefined
}

function schedulingEvidence(pod: Stored<Pod>): Cause['evidence'] {
  const condition = conditionOf(pod.status?.conditions, 'PodScheduled')
  return condition?.status === 'False' ? [ofCondition(pod, condition)] : []
}

const volumeReasons = ['FailedMount', 'FailedAttachVolume', 'FailedMapVolume', 'FailedAttach'] as const
const sandboxReasons = ['FailedCreatePodSandBox', 'NetworkNotReady', 'FailedSync'] as const

/** Nothing has been started yet: volumes, sandbox and network come first. */
function notStarted(snapshot: Snapshot, pod: Stored<Pod>): Cause | undefined {
  const { containerStatuses = [] } = pod.status ?? {}
  if (containerStatuses.some(({ state }) => state?.running ?? state?.terminated)) return undefined
  const { namespace, name } = pod.metadata
  const describe = kubectl(namespace, 'describe', 'pod', name)
  const volume = eventWith(snapshot, pod, volumeReasons)
  if (volume) {
    const { message = '' } = volume
    const missing = /(?<kind>configmap|secret) "(?<name>[^"]+)" not found/.exec(message)?.groups
    const kind = missing?.['kind'] === 'secret' ? 'Secret' : 'ConfigMap'
    const volumeName = /volume "(?<volume>[^"]+)"/.exec(message)?.groups?.['volume']
    const which = volumeName === undefined ? 'a volume' : `volume ${volumeName}`
    const why = missing ? `${kind} ${missing['name'] ?? ''} does not exist` : trimmed(message)
    return {
      code: missing ? 'MissingObject' : 'Volume',
      summary: `${nameOf(pod)} cannot start, since ${missing ? `${which} cannot be mounted: ` : ''}${why}.`,
      evidence: [ofEvent(volume, snapshot.nowMs)],
      remedies: [
        missing
          ? remedy(
              `Create the ${kind}, or correct its name in the pod:`,
              kubectl(namespace, 'get', `${kind.toLowerCase()}s`),
            )
          : remedy('See all events of the pod:', describe),
      ],
    }
  }
  const sandbox = eventWith(snapshot, pod, sandboxReasons)
  if (sandbox) {
    return {
      code: 'PodSandbox',
      summary: `${nameOf(pod)} cannot start, since its sandbox cannot be set up: ${trimmed(sandbox.message ?? '')}.`,
      evidence: [ofEvent(sandbox, snapshot.nowMs)],
      remedies: [remedy('Check the node:', whyCommand('node', { name: pod.spec?.nodeName ?? '' }))],
    }
  }
  const age = ageOf(pod.status?.startTime ?? pod.metadata.creationTimestamp, snapshot.nowMs)
  return {
    code: 'Starting',
    summary: `${nameOf(pod)} is starting on Node ${pod.spec?.nodeName ?? ''}${age ? `, for ${age}` : ''}.`,
    evidence: containerStatuses.map(({ name: container, state }) => {
      return ofObject(pod, `container ${container} is waiting, ${state?.waiting?.reason ?? ''}`)
    }),
    remedies: [remedy('See its events:', describe)],
  }
}

function gateCause(pod: Stored<Pod>): Cause {
  const { conditions } = pod.status ?? {}
  const gates = (pod.spec?.readinessGates ?? []).map(({ conditionType }) => conditionType)
  const open = gates.filter(gate => conditionOf(conditions, gate)?.status !== 'True')
  const ready = conditionOf(conditions, 'Ready')
  const why = open.length > 0 ? `, since its readiness gate ${open.join(', ')} is not True` : ''
  return {
    code: 'Unknown',
    summary: `${nameOf(pod)} is not ready${why}.`,
    evidence: ready ? [ofCondition(pod, ready)] : [],
    remedies: [
      remedy(
        'See its conditions and events:',
        kubectl(pod.metadata.namespace, 'describe', 'pod', pod.metadata.name),
      ),
    ],
  }
}

function diagnoseTermination(snapshot: Snapshot, pod: Stored<Pod>): Cause {
  const gone = diagnoseNodeOf(snapshot, pod)
  const { namespace, name, deletionGracePeriodSeconds = 30 } = pod.metadata
  if (gone) {
    return {
      ...gone,
      remedies: [
        ...gone.remedies,
        remedy(
          'If the node is gone for good, delete the pod without its confirmation:',
          kubectl(namespace, 'delete', 'pod', name, '--force', '--grace-period=0'),
        ),
      ],
    }
  }
  const finalizers = diagnoseDeletion(snapshot, pod)
  if (finalizers) return finalizers
  const killing = eventWith(snapshot, pod, ['FailedKillPod', 'FailedPreStopHook', 'Killing'])
  const evidence = [
    ofObject(pod, `metadata.deletionTimestamp is ${pod.metadata.deletionTimestamp ?? ''}`),
    ...(killing ? [ofEvent(killing, snapshot.nowMs)] : []),
  ]
  const isLate = isOverdue(pod, snapshot.nowMs)
  const grace = `${deletionGracePeriodSeconds}s`
  const { nodeName: node = '' } = pod.spec ?? {}
  return {
    code: 'Terminating',
    summary: isLate
      ? `${nameOf(pod)} is not gone, since the kubelet of Node ${node} has not stopped it within ${grace}.`
      : `${nameOf(pod)} is terminating within its grace period of ${grace}.`,
    evidence,
    remedies: isLate ? [remedy('See the node:', whyCommand('node', { name: node }))] : [],
  }
}
