import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { deployments, replicaSets } from '#/api/generated/apps/v1-resources.ts'
import { scaledValueRoundedDown, scaledValueRoundedUp } from '#/api/text/int-or-string.ts'
import { keyOf, controllerOf, isControlledBy } from '#/api/metadata.ts'
import type { ApiRequest } from '#/api/transport.ts'
import type { Informers } from '#/client/informers.ts'
import { RecentHistory } from './recent-history.ts'
import type { Changed, World } from './world.ts'

/** Checks that no rollout exceeds `maxSurge`. */
export class SurgeBounds {
  readonly #world: World
  /** Maximum number of pods that each Deployment allowed recently. */
  readonly #allowed = new RecentHistory<{ readonly podsMax: number }>()

  constructor(world: World) {
    this.#world = world
  }

  check({ resourcePrefix, before, after, nowMs }: Changed): readonly string[] {
    if (resourcePrefix === 'deployments' && after) {
      this.#allowed.note(after.metadata.uid, nowMs, { podsMax: podsMaxOf(after) })
    }
    if (resourcePrefix !== 'replicasets' || after === undefined || replicasOf(after) <= replicasOf(before))
      return []
    const deployment = this.#world.of('deployments').find(each => isControlledBy(after, each))
    if (deployment === undefined) return []
    const sets = this.#world.of('replicasets').filter(set => isControlledBy(set, deployment))
    const wanted = sets.reduce((sum, set) => sum + replicasOf(set), 0)
    const allowed = this.#allowed.of(deployment.metadata.uid, nowMs).map(({ podsMax }) => podsMax)
    const most = Math.max(...allowed)
    if (wanted <= most) return []
    return [`deployment ${keyOf(deployment)} requests ${wanted} pods, limit ${most}`]
  }
}

/**
 * Checks that no rollout violates `maxUnavailable`. Evaluated on the controller's own informers when it
 * scales down a ReplicaSet, since the actual status may be newer. Proportional scaling of the whole
 * Deployment is exempt.
 */
export function checkShrinking(request: ApiRequest, informers: Informers): readonly string[] {
  const [, namespace] = setPath.exec(request.path) ?? []
  if (request.method !== 'PUT' || namespace === undefined) return []
  const after = request.body.value as ReplicaSet
  const deployment = informers.of(deployments).get(`${namespace}/${controllerOf(after)?.name}`)
  if (deployment === undefined || !isControlledBy(after, deployment)) return []
  const allSets = informers.of(replicaSets).inNamespace(namespace)
  const sets = allSets.filter(set => isControlledBy(set, deployment))
  const before = sets.find(set => set.metadata.resourceVersion === after.metadata.resourceVersion)
  // An update of an older resourceVersion fails with a conflict anyway.
  if (before === undefined || sets.some(set => isOfOtherSize(set, deployment))) return []
  const had = sets.reduce((sum, set) => sum + availableOf(set, replicasOf(set)), 0)
  const removed = availableOf(before, replicasOf(before)) - availableOf(before, replicasOf(after))
  const least = minAvailableOf(deployment)
  if (removed <= 0 || had - removed >= least) return []
  return [`deployment ${keyOf(deployment)} drops below ${least} available pods: ${had} minus ${removed}`]
}

const setPath = /^\/apis\/apps\/v1\/namespaces\/([^/]+)\/replicasets\/[^/]+$/

/** Available pods of a set after scaling to this size, if unavailable ones are deleted first. */
function availableOf({ status }: ReplicaSet, size: number): number {
  return Math.min(status?.availableReplicas ?? 0, size)
}

/** True if the set was last scaled for another number of desired replicas. */
function isOfOtherSize({ metadata, spec }: ReplicaSet, deployment: Deployment): boolean {
  const desired = metadata.annotations?.['deployment.kubernetes.io/desired-replicas']
  return (spec?.replicas ?? 0) > 0 && desired !== String(deployment.spec?.replicas ?? 1)
}

function replicasOf(set: ReplicaSet | undefined): number {
  return set?.spec?.replicas ?? 0
}

function podsMaxOf({ spec }: Deployment): number {
  const replicas = spec?.replicas ?? 1
  const { maxSurge = 0 } = spec?.strategy?.rollingUpdate ?? {}
  return replicas + (scaledValueRoundedUp(maxSurge, replicas) ?? 0)
}

function minAvailableOf({ spec }: Deployment): number {
  const replicas = spec?.replicas ?? 1
  if (spec?.strategy?.type === 'Recreate') return 0
  const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy?.rollingUpdate ?? {}
  const surge = scaledValueRoundedUp(maxSurge, replicas) ?? 0
  const missing = scaledValueRoundedDown(maxUnavailable, replicas) ?? 0
  // With zero surge at least one pod must become unavailable.
  return Math.max(0, replicas - (surge === 0 ? Math.max(1, missing) : missing))
}
