import { conditionOf, type Condition } from '#/api/conditions.ts'
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, isControlledBy, type Stored } from '#/api/metadata.ts'
import type { Cause } from '../diagnosis.ts'
import { isReady, worstFirst } from '../collect/relevant-pods.ts'
import { podsOf, type Snapshot } from '../collect/snapshot.ts'
import { diagnoseCreation } from './creation.ts'
import {
  ageOf,
  counted,
  healthy,
  kubectl,
  nameOf,
  ofCondition,
  ofObject,
  remedy,
  trimmed,
} from './phrases.ts'
import { diagnosePod } from './pod.ts'

const revisionAnnotation = 'deployment.kubernetes.io/revision'

export function diagnoseDeployment(snapshot: Snapshot, deployment: Stored<Deployment>): Cause {
  const { spec, status } = deployment
  const sets = (snapshot.replicaSets ?? [])
    .filter(set => isControlledBy(set, deployment))
    .toSorted((left, right) => revisionOf(right) - revisionOf(left))
  const [newest] = sets
  const wanted = spec?.replicas ?? 1
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status ?? {}
  const isUpdated = updatedReplicas >= wanted && replicas <= updatedReplicas
  if (isUpdated && availableReplicas >= wanted) return replicasDone(snapshot, deployment, wanted)
  // During a rollout the pods of the previous revision keep the Deployment available.
  const heading =
    availableReplicas >= wanted
      ? `${nameOf(deployment)} is available, but its rollout does not complete`
      : readyText(deployment, availableReplicas, wanted)
  const creation = newest && diagnoseCreation(snapshot, newest)
  if (creation) return deeper(heading, creation, deployment)
  const ofNewest = newest ? podsOf(snapshot, newest) : []
  const cause = worstPod(snapshot, ofNewest.length > 0 ? ofNewest : podsOf(snapshot, deployment))
  if (cause && cause.code !== 'Healthy') return deeper(heading, cause, deployment)
  if (spec?.paused) {
    return {
      code: 'Paused',
      summary: `${nameOf(deployment)} does not change its pods, since its rollout is paused.`,
      evidence: [ofObject(deployment, 'spec.paused is true')],
      remedies: [
        remedy(
          'Resume it:',
          kubectl(snapshot.namespace, 'rollout', 'resume', `deployment/${deployment.metadata.name}`),
        ),
      ],
    }
  }
  return inProgress(snapshot, deployment, heading)
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0)
}

/** A ReplicaSet, StatefulSet or ReplicationController. */
export function diagnoseReplicas(snapshot: Snapshot, owner: Stored<ReplicaSet> | Stored<StatefulSet>): Cause {
  const wanted = owner.spec?.replicas ?? 1
  const { readyReplicas = 0, replicas = 0 } = owner.status ?? {}
  if (readyReplicas >= wanted && replicas === wanted) return replicasDone(snapshot, owner, wanted)
  const heading = readyText(owner, readyReplicas, wanted)
  const creation = replicas < wanted ? diagnoseCreation(snapshot, owner) : undefined
  if (creation) return deeper(heading, creation, owner)
  const cause = worstPod(snapshot, podsOf(snapshot, owner))
  return cause && cause.code !== 'Healthy'
    ? deeper(heading, cause, owner)
    : inProgress(snapshot, owner, heading)
}

export function diagnoseDaemonSet(snapshot: Snapshot, set: Stored<DaemonSet>): Cause {
  const { desiredNumberScheduled = 0, numberReady = 0, numberAvailable = numberReady } = set.status ?? {}
  if (desiredNumberScheduled === 0) {
    const isEmpty = snapshot.nodes?.length === 0
    const why = isEmpty
      ? 'the cluster has no nodes'
      : 'no node matches its node selector, affinity and tolerations'
    return {
      code: 'NotScheduled',
      summary: `${nameOf(set)} runs no pods, since ${why}.`,
      evidence: [
        ofObject(set, 'status.desiredNumberScheduled is 0'),
        ofObject(set, `nodeSelector is ${JSON.stringify(set.spec?.template.spec?.nodeSelector ?? {})}`),
      ],
      remedies: [
        remedy('Compare with the labels and taints of the nodes:', 'kubectl get nodes --show-labels'),
      ],
    }
  }
  if (numberAvailable >= desiredNumberScheduled) return replicasDone(snapshot, set, desiredNumberScheduled)
  const heading = readyText(set, numberReady, desiredNumberScheduled)
  const creation = diagnoseCreation(snapshot, set)
  const cause = worstPod(snapshot, podsOf(snapshot, set))
  if (cause && cause.code !== 'Healthy') return deeper(heading, cause, set)
  return creation ? deeper(heading, creation, set) : inProgress(snapshot, set, heading)
}

export function diagnoseJob(snapshot: Snapshot, job: Stored<Job>): Cause {
  const { conditions } = job.status ?? {}
  const { succeeded = 0, failed = 0 } = job.status ?? {}
  const complete = conditionOf(conditions, 'Complete')
  if (complete?.status === 'True')
    return healthy(`${nameOf(job)} has completed.`, [ofCondition(job, complete)])
  if (job.spec?.suspend) {
    return {
      code: 'Paused',
      summary: `${nameOf(job)} runs no pods, since it is suspended.`,
      evidence: [ofObject(job, 'spec.suspend is true')],
      remedies: [
        remedy(
          'Resume it:',
          kubectl(snapshot.namespace, 'patch', 'job', job.metadata.name, '-p', '{"spec":{"suspend":false}}'),
        ),
      ],
    }
  }
  const end = conditions?.find(({ type, status }) => type === 'Failed' && status === 'True')
  const goal = job.spec?.completions ?? 1
  const heading = end
    ? `${nameOf(job)} has failed (${end.reason ?? 'Failed'}), ${counted(failed, 'pod')} of it failed`
    : `${nameOf(job)} has completed ${succeeded} of ${goal}`
  const pods = podsOf(snapshot, job)
  // The pod that follows a failed one has not failed yet.
  const cause =
    worstPod(snapshot, pods.filter(hasFailed)) ?? worstPod(snapshot, pods) ?? diagnoseCreation(snapshot, job)
  if (cause && cause.code !== 'Healthy') {
    const deep = deeper(heading, cause, job)
    return end ? { ...deep, evidence: [ofCondition(job, end), ...deep.evidence] } : deep
  }
  if (!end) return inProgress(snapshot, job, heading)
  return {
    code: 'CrashLoop',
    summary: `${heading}: ${trimmed(end.message ?? '')}.`,
    evidence: [ofCondition(job, end)],
    remedies: [
      remedy(
        'See the events and pods that are left:',
        kubectl(snapshot.namespace, 'describe', 'job', job.metadata.name),
      ),
    ],
  }
}

function hasFailed({ status }: Pod): boolean {
  return status?.phase === 'Failed'
}

/** The cause of the worst of the pods; undefined without pods. */
export function worstPod(snapshot: Snapshot, pods: readonly Stored<Pod>[]): Cause | undefined {
  const [worst] = worstFirst(pods)
  return worst && diagnosePod(snapshot, worst)
}

/** The cause of an object by that of another, such as one of its pods. */
export function deeper(heading: string, cause: Cause, owner: Stored): Cause {
  return {
    ...cause,
    summary: `${heading}: ${cause.summary}`,
    evidence: [...falseConditions(owner), ...cause.evidence],
  }
}

function falseConditions(owner: Stored): Cause['evidence'] {
  const { status } = owner as { readonly status?: { readonly conditions?: readonly Condition[] } }
  return (status?.conditions ?? [])
    .filter(
      condition =>
        condition.status === 'False' && ['Available', 'Progressing'].includes(condition.type ?? ''),
    )
    .map(condition => ofCondition(owner, condition))
}

function readyText(owner: Stored, ready: number, wanted: number): string {
  return `${nameOf(owner)} has ${ready} of ${counted(wanted, 'replica')} ready`
}

function replicasDone(snapshot: Snapshot, owner: Stored, wanted: number): Cause {
  if (wanted === 0)
    return healthy(`${nameOf(owner)} runs no pods, since spec.replicas is 0.`, [
      ofObject(owner, 'spec.replicas is 0'),
    ])
  // An evicted pod stays until it is deleted, although another one replaces it.
  const kept = podsOf(snapshot, owner).filter(pod => !isBeingDeleted(pod) && !hasFailed(pod))
  const cause = worstPod(snapshot, kept)
  if (cause && cause.code !== 'Healthy') {
    return { ...cause, summary: `${nameOf(owner)} has all replicas ready, but: ${cause.summary}` }
  }
  const ready = kept.filter(isReady).length
  const others = podsOf(snapshot, owner).length - kept.length
  return healthy(`${nameOf(owner)} has ${counted(wanted, 'replica')}, all ready.`, [
    ofObject(owner, `pods: ${ready} ready, ${others} terminating or failed`),
  ])
}

function inProgress({ nowMs, namespace, pods }: Snapshot, owner: Stored, heading: string): Cause {
  const age = ageOf(owner.metadata.creationTimestamp, nowMs)
  const summary = pods
    ? `${heading}, and no pod shows a problem: its controller is still working, or does not run.`
    : `${heading}, and its pods could not be read.`
  return {
    code: pods ? 'Starting' : 'Unknown',
    summary,
    evidence: [ofObject(owner, `created${age ? ` ${age} ago` : ''}`), ...falseConditions(owner)],
    remedies: [
      remedy(
        'See its events:',
        kubectl(namespace, 'describe', (owner.kind ?? '').toLowerCase(), owner.metadata.name),
      ),
    ],
  }
}
