/**
 * Rollback requested by an annotation, as the removed `rollbackTo` API did. Current clients write the old
 * template to the Deployment instead.
 */
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { compareInt64, int64Max, parseInt64 } from '#/api/text/int64.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import {
  nextRevision,
  revisionOf,
  revisionsOf,
  rollbackAnnotation,
  sharedAnnotations,
  unsharedAnnotations,
  withAnnotations,
} from './revisions.ts'
import { sameTemplate, withoutHash } from './template.ts'

export interface RollbackPlan {
  /** Without the rollback annotation. */
  readonly deployment: Deployment
  readonly event: EventContent
}

/** Undefined if no rollback is requested, or if the revision numbers are not up to date yet. */
export function planRollback(
  deployment: Deployment,
  replicaSets: readonly Stored<ReplicaSet>[],
): RollbackPlan | undefined {
  const asked = rollbackRevisionOf(deployment)
  if (asked === undefined || deployment.spec?.paused) return undefined
  const { newReplicaSet, old } = revisionsOf(deployment, replicaSets)
  if (newReplicaSet === undefined || (revisionOf(newReplicaSet) ?? int64Max) < nextRevision(old))
    return undefined
  const wanted = asked === 0n ? lastRevision(replicaSets) : asked
  const answer = { deployment: withoutRequest(deployment) }
  if (wanted === 0n) {
    return {
      ...answer,
      event: warning('DeploymentRollbackRevisionNotFound', 'Unable to find last revision.'),
    }
  }
  const target = replicaSets.find(set => revisionOf(set) === wanted)
  if (target === undefined) {
    const message = 'Unable to find the revision to rollback to.'
    return { ...answer, event: warning('DeploymentRollbackRevisionNotFound', message) }
  }
  const name = deployment.metadata.name
  if (sameTemplate(target.spec?.template, deployment.spec?.template)) {
    const message = `The rollback revision contains the same template as current deployment "${name}"`
    return { ...answer, event: warning('DeploymentRollbackTemplateUnchanged', message) }
  }
  return {
    deployment: withoutRequest(backTo(deployment, target)),
    event: {
      type: 'Normal',
      reason: 'DeploymentRollback',
      message: `Rolled back deployment "${name}" to revision ${wanted}`,
    },
  }
}

function rollbackRevisionOf({ metadata }: Deployment): bigint | undefined {
  const revision = parseInt64(metadata.annotations?.[rollbackAnnotation] ?? '')
  return revision === undefined ? undefined : BigInt(revision)
}

/** The second highest revision; 0 if there is none. */
function lastRevision(replicaSets: readonly ReplicaSet[]): bigint {
  const revisions = replicaSets.map(set => revisionOf(set) ?? 0n)
  return revisions.toSorted((left, right) => compareInt64(right, left))[1] ?? 0n
}

/** Annotations are restored with the template, since the change cause belongs to the revision. */
function backTo(deployment: Deployment, target: ReplicaSet): Deployment {
  const template = target.spec?.template
  if (deployment.spec === undefined || template === undefined) return deployment
  const changed = { ...deployment, spec: { ...deployment.spec, template: withoutHash(template) } }
  return withAnnotations(changed, { ...unsharedAnnotations(deployment), ...sharedAnnotations(target) })
}

function withoutRequest(deployment: Deployment): Deployment {
  const { [rollbackAnnotation]: _request, ...left } = deployment.metadata.annotations ?? {}
  return withAnnotations(deployment, left)
}

function warning(reason: string, message: string): EventContent {
  return { type: 'Warning', reason, message }
}
