/**
 * Deployments. Each pod template that a Deployment has had is a revision, kept as a ReplicaSet; a rollout
 * moves pods from the old ReplicaSets to the new one in steps, within `maxSurge` and `maxUnavailable`. Each
 * reconcile plans one whole step (`deployment/plan.ts`), performs it and updates the status
 * (`deployment/status.ts`); the next step is planned when the resulting changes are observed.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/
 */
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import {
  controllerOf,
  formatKey,
  isBeingDeleted,
  isControlledBy,
  keyOf,
  type Stored,
} from '#/api/metadata.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { claimObjects } from './shared/controller-ref.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { performPlan, type PerformWork } from './deployment/perform.ts'
import { planDeployment } from './deployment/plan.ts'
import { revisionAnnotation, revisionsOf, withAnnotations } from './deployment/revisions.ts'
import { planRollback } from './deployment/rollback.ts'
import { nextProgressCheckMs, planStatus, type StatusWorld } from './deployment/status.ts'
import { onOrphan, enqueueForOwner, orphanIndex, controllerRefIndex } from './shared/controller-ref-index.ts'
import { isPodTerminal } from './pods.ts'

export const deploymentController: Controller = {
  name: 'deployment-controller',
  queueName: 'deployment',
  account: 'deployment-controller',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const { platform, recorder, informer } = context
  const allDeployments = informer(deployments)
  const allSets = informer(replicaSets)
  const ownedSets = controllerRefIndex(allSets)
  const orphanSets = orphanIndex(allSets)
  const ownedPods = controllerRefIndex(informer(pods))
  enqueueOnChange(context)

  return async ({ key, client }) => {
    const deployment = allDeployments.get(key)
    if (deployment === undefined) return undefined
    const work = { deployment, client, recorder }
    if (selectsAll(deployment)) return rejectSelectingAll(work)
    const { uid, namespace = '' } = deployment.metadata
    const claimed = await claimObjects({
      client,
      owner: deployment,
      ownerResource: deployments,
      resource: replicaSets,
      selector: compileLabelSelector(deployment.spec?.selector),
      candidates: [...ownedSets.get(uid), ...orphanSets.get(namespace)],
    })
    const rollback = isBeingDeleted(deployment) ? undefined : planRollback(deployment, claimed)
    if (rollback) {
      await client.update(deployments, rollback.deployment)
      recorder.record(deployment, rollback.event)
      return undefined
    }
    const plan = planDeployment({
      deployment,
      replicaSets: claimed,
      hasRunningPods: set => ownedPods.get(set.metadata.uid).some(pod => !isPodTerminal(pod)),
    })
    const { error, ...performed } = await performPlan(work, plan, claimed)
    const { newReplicaSet } = revisionsOf(deployment, performed.replicaSets)
    const { isRollout } = plan
    const requeueAfterMs = await updateStatus(work, {
      ...performed,
      deployment,
      newReplicaSet,
      isRollout,
      nowMs: platform.clock.now(),
    })
    if (error !== undefined) throw error
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
  }
}

/** Maps changes to the Deployments that must be reconciled. */
function enqueueOnChange({ informer, enqueue }: ControllerContext): void {
  const allDeployments = informer(deployments)
  const allSets = informer(replicaSets)
  allDeployments.addEventHandler(key => enqueue(key))
  enqueueForOwner(allSets, deployments, key => enqueue(key))
  onOrphan(allSets, orphan => {
    for (const each of allDeployments.inNamespace(orphan.metadata.namespace ?? '')) {
      if (compileLabelSelector(each.spec?.selector).matches(orphan.metadata.labels)) enqueue(keyOf(each))
    }
  })
  const deploymentOf = (pod: Pod): Stored<Deployment> | undefined => {
    const { namespace = '' } = pod.metadata
    const owner = controllerOf(pod)
    if (owner?.kind !== 'ReplicaSet') return undefined
    const set = allSets.get(formatKey({ namespace, name: owner.name }))
    const name = set && isControlledBy(pod, set) ? controllerOf(set)?.name : undefined
    return name === undefined ? undefined : allDeployments.get(formatKey({ namespace, name }))
  }
  // The Recreate strategy waits for the last old pod to stop, and the ReplicaSet's status does not change for
  // every terminating pod.
  informer(pods).addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject === undefined || isPodTerminal(oldObject) || (newObject && !isPodTerminal(newObject)))
      return
    const deployment = deploymentOf(oldObject)
    if (deployment?.spec?.strategy?.type === 'Recreate') enqueue(keyOf(deployment))
  })
}

function selectsAll({ spec }: Deployment): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.selector ?? {}
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0
}

/** An empty selector would match all pods of the namespace. */
async function rejectSelectingAll({ deployment, client, recorder }: PerformWork): Promise<undefined> {
  const message = 'This deployment is selecting all pods. A non-empty selector is required.'
  recorder.record(deployment, { type: 'Warning', reason: 'SelectingAll', message })
  const { generation = 0 } = deployment.metadata
  if ((deployment.status?.observedGeneration ?? 0) >= generation) return
  const status = { ...deployment.status, observedGeneration: generation }
  await client.updateStatus(deployments, { ...deployment, status })
}

/** Updates the status. Returns the delay until the next progress check. */
async function updateStatus(
  { deployment, client }: PerformWork,
  world: StatusWorld,
): Promise<number | undefined> {
  const status = planStatus(world)
  const revision = world.newReplicaSet?.metadata.annotations?.[revisionAnnotation]
  const numbered = withAnnotations(deployment, {
    ...deployment.metadata.annotations,
    ...(revision && { [revisionAnnotation]: revision }),
  })
  if (numbered !== deployment || status !== deployment.status)
    await client.updateStatus(deployments, { ...numbered, ...(status && { status }) })
  return nextProgressCheckMs(deployment, status, world.nowMs)
}
