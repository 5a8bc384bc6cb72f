import type { Condition } from '#/api/conditions.ts'
import type { CronJob } from '#/api/generated/batch/v1.ts'
import type { PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { isControlledBy, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Cause } from '../diagnosis.ts'
import { eventsOf, podsOf, type Snapshot } from '../collect/snapshot.ts'
import { diagnoseAutoscaler } from './autoscaler.ts'
import { diagnoseClaim } from './claim.ts'
import { diagnoseCreation } from './creation.ts'
import { diagnoseDeletion } from './deletion.ts'
import { diagnoseNode } from './node.ts'
import {
  after,
  ageOf,
  counted,
  healthy,
  kubectl,
  nameOf,
  ofCondition,
  ofEvent,
  ofObject,
  remedy,
  trimmed,
} from './phrases.ts'
import { diagnosePod } from './pod.ts'
import { diagnoseIngress, diagnoseService } from './service.ts'
import {
  deeper,
  diagnoseDaemonSet,
  diagnoseDeployment,
  diagnoseJob,
  diagnoseReplicas,
  worstPod,
} from './workload.ts'

/** The cause of the state of the target, whatever kind it has. */
export function diagnoseTarget(snapshot: Snapshot): Cause {
  const { target } = snapshot
  const deletion = target.kind === 'Pod' ? undefined : diagnoseDeletion(snapshot, target)
  if (deletion) return deletion
  const claim =
    target.kind === 'PersistentVolumeClaim'
      ? claimCause(snapshot, target as Stored<PersistentVolumeClaim>)
      : undefined
  return claim ?? diagnosers[diagnoserKey(target)]?.(snapshot, target) ?? diagnoseAny(snapshot, target)
}

/** Custom resources may have the same kinds, such as `Service`. */
function diagnoserKey({ apiVersion = '', kind = '' }: KubernetesObject): string {
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
  return group === '' ? kind : `${kind}.${group}`
}

type Diagnoser = (snapshot: Snapshot, target: Stored) => Cause

/** The key in the table guarantees the kind. */
function ofKind<T extends KubernetesObject>(
  diagnose: (snapshot: Snapshot, target: Stored<T>) => Cause,
): Diagnoser {
  return (snapshot, target) => diagnose(snapshot, target as Stored<T>)
}

const diagnosers: Readonly<Record<string, Diagnoser | undefined>> = {
  'CronJob.batch': ofKind(diagnoseCronJob),
  'DaemonSet.apps': ofKind(diagnoseDaemonSet),
  'Deployment.apps': ofKind(diagnoseDeployment),
  'HorizontalPodAutoscaler.autoscaling': ofKind(diagnoseAutoscaler),
  'Ingress.networking.k8s.io': ofKind(diagnoseIngress),
  'Job.batch': ofKind(diagnoseJob),
  'Node': ofKind(diagnoseNode),
  'PersistentVolumeClaim': ofKind(diagnoseClaim),
  'Pod': ofKind(diagnosePod),
  'ReplicaSet.apps': ofKind(diagnoseReplicas),
  'ReplicationController': ofKind(diagnoseReplicas),
  'Service': ofKind(diagnoseService),
  'StatefulSet.apps': ofKind(diagnoseReplicas),
}

/** For a claim that waits for a pod, the cause is what the pod waits for. */
function claimCause(snapshot: Snapshot, claim: Stored<PersistentVolumeClaim>): Cause | undefined {
  const cause = diagnoseClaim(snapshot, claim)
  const waiting = (snapshot.pods ?? []).find(pod => cause.summary.includes(`waits for ${nameOf(pod)},`))
  return waiting && deeper(cause.summary.replace(/\.$/, ''), diagnosePod(snapshot, waiting), claim)
}

function diagnoseCronJob(snapshot: Snapshot, cronJob: Stored<CronJob>): Cause {
  const name = nameOf(cronJob)
  const { suspend, schedule, concurrencyPolicy } = cronJob.spec ?? {}
  const { active = [], lastScheduleTime } = cronJob.status ?? {}
  const age = ageOf(lastScheduleTime, snapshot.nowMs)
  const evidence = [
    ofObject(cronJob, `schedule ${schedule ?? ''}, last scheduled ${age ? `${age} ago` : 'never'}`),
  ]
  const { namespace } = snapshot
  if (suspend) {
    return {
      code: 'Paused',
      summary: `${name} starts no Jobs, since it is suspended.`,
      evidence,
      remedies: [
        remedy(
          'Resume it:',
          kubectl(namespace, 'patch', 'cronjob', cronJob.metadata.name, '-p', '{"spec":{"suspend":false}}'),
        ),
      ],
    }
  }
  const jobs = (snapshot.jobs ?? []).filter(job => isControlledBy(job, cronJob))
  const [last] = jobs.toSorted((left, right) =>
    left.metadata.creationTimestamp < right.metadata.creationTimestamp ? 1 : -1,
  )
  const cause = (last && diagnoseJob(snapshot, last)) ?? diagnoseCreation(snapshot, cronJob)
  if (cause && !['Healthy', 'Starting'].includes(cause.code)) {
    const heading =
      active.length > 0 && concurrencyPolicy === 'Forbid'
        ? `${name} starts no other Job while one is active`
        : name
    return deeper(heading, cause, cronJob)
  }
  const warning = eventsOf(snapshot, cronJob).find(({ type }) => type === 'Warning')
  if (warning) {
    return {
      code: 'Unknown',
      summary: `${name} has a problem: ${trimmed(warning.message ?? '')}.`,
      evidence: [...evidence, ofEvent(warning, snapshot.nowMs)],
      remedies: [remedy('See its events:', kubectl(namespace, 'describe', 'cronjob', cronJob.metadata.name))],
    }
  }
  return healthy(
    `${name} starts Jobs as scheduled${active.length > 0 ? `; ${counted(active.length, 'Job')} active` : ''}.`,
    evidence,
  )
}

/** Conditions that are False for objects in order. */
const normallyFalse =
  /(?:Pressure|Failure)$|^(?:Degraded|Failed|Stalled|Suspended|Reconciling|NetworkUnavailable|NonStructuralSchema)$/

/** Any kind: conditions, events and the pods that the object controls. */
function diagnoseAny(snapshot: Snapshot, target: Stored): Cause {
  const name = nameOf(target)
  const conditions = conditionsOf(target)
  const bad = conditions.find(({ type = '', status }) => {
    return normallyFalse.test(type) ? status === 'True' : status === 'False' || status === 'Unknown'
  })
  const warnings = eventsOf(snapshot, target).filter(({ type }) => type === 'Warning')
  const evidence = [
    ...conditions.map(condition => ofCondition(target, condition)),
    ...warnings.slice(0, 3).map(event => ofEvent(event, snapshot.nowMs)),
  ]
  const describe = kubectl(
    snapshot.namespace,
    'describe',
    (target.kind ?? '').toLowerCase(),
    target.metadata.name,
  )
  const pods = worstPod(snapshot, podsOf(snapshot, target))
  if (pods && pods.code !== 'Healthy')
    return { ...pods, summary: `${name}: ${pods.summary}`, evidence: [...evidence, ...pods.evidence] }
  const creation = diagnoseCreation(snapshot, target)
  if (creation) return creation
  if (bad) {
    const why = trimmed(bad.message ?? '') || (bad.reason ?? '')
    const { type = '', status = '' } = bad
    return {
      code: 'Unknown',
      summary: `${name} has the condition ${type} ${status}${why === '' ? '' : `: ${why}`}.`,
      evidence,
      remedies: [remedy('See the object:', describe)],
    }
  }
  const { phase = '', reason, message } = phaseOf(target)
  if (badPhases.has(phase)) {
    const why = trimmed(message ?? reason ?? '')
    return {
      code: 'Unknown',
      summary: `${name} is ${phase}${after(': ', why)}.`,
      evidence: [ofObject(target, `status.phase is ${phase}`), ...evidence],
      remedies: [remedy('See the object:', describe)],
    }
  }
  const [warning] = warnings
  if (warning) {
    return {
      code: 'Unknown',
      summary: `${name} has a problem: ${trimmed(warning.message ?? '')}.`,
      evidence,
      remedies: [remedy('See the object:', describe)],
    }
  }
  return healthy(`${name} shows no problem.`, evidence)
}

const badPhases: ReadonlySet<string> = new Set(['Failed', 'Lost', 'Pending', 'Released'])

interface PhaseOfObject {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
}

/** Only texts: the fields of custom resources may have any type. */
function phaseOf(object: Stored): PhaseOfObject {
  const { status } = object as { readonly status?: Readonly<Record<string, unknown>> }
  const entries = ['phase', 'reason', 'message'].map(field => [field, status?.[field]] as const)
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'))
}

function conditionsOf(object: Stored): readonly Condition[] {
  const { status } = object as { readonly status?: { readonly conditions?: unknown } }
  const { conditions } = status ?? {}
  if (!Array.isArray(conditions)) return []
  return conditions.filter((each: unknown): each is Condition => {
    if (typeof each !== 'object' || each === null) return false
    return ['type', 'status', 'reason', 'message'].every(field => {
      return ['string', 'undefined'].includes(typeof (each as Record<string, unknown>)[field])
    })
  })
}
