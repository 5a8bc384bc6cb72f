import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { scaledValueRoundedDown, scaledValueRoundedUp } from '#/api/int-or-string.ts'
import { isBeingDeleted, isControlledBy } from '#/api/metadata.ts'
import { isPodReady } from '#/controllers/pods.ts'
import { RecentPast } from './staleness.ts'
import { nameOf, type Changed, type World } from './world.ts'

interface Bounds {
  readonly podsMax: number
  readonly availableMin: number
}

/** No rollout asks for more pods than `maxSurge` allows, nor takes away pods that `maxUnavailable` protects. */
export class DeploymentBounds {
  readonly #world: World
  /** What each deployment asked for. */
  readonly #asked = new RecentPast<Bounds>()
  /** How many of its pods were available. */
  readonly #available = new RecentPast<{ readonly count: number }>()

  constructor(world: World) {
    this.#world = world
  }

  check({ folder, before, after, nowMs }: Changed): readonly string[] {
    if (folder === 'pods') this.#count(after ?? before, nowMs)
    if (folder === 'deployments' && after) {
      this.#asked.note(after.metadata?.uid ?? '', nowMs, boundsOf(after))
    }
    if (folder !== 'replicasets' || after === undefined) return []
    const [was, is] = [sizeOf(before), sizeOf(after)]
    const uid = after.metadata?.ownerReferences?.[0]?.uid
    const owner = this.#world.of('deployments').find(({ metadata }) => metadata?.uid === uid)
    if (owner === undefined || was === is) return []
    return is > was ? this.#checkMore(owner, nowMs) : this.#checkFewer(owner, after, nowMs)
  }

  #count(pod: Pod | undefined, nowMs: number): void {
    const set = this.#world.byUid(pod?.metadata?.ownerReferences?.[0]?.uid ?? '')
    const uid = set?.metadata?.ownerReferences?.[0]?.uid
    if (uid !== undefined) this.#available.note(uid, nowMs, { count: this.#availablePods(uid).length })
  }

  #checkMore(deployment: Deployment, nowMs: number): readonly string[] {
    const uid = deployment.metadata?.uid ?? ''
    const wanted = this.#sets(uid).reduce((sum, set) => sum + sizeOf(set), 0)
    const allowed = Math.max(...this.#asked.of(uid, nowMs).map(({ podsMax }) => podsMax))
    if (wanted <= allowed) return []
    return [`deployment ${nameOf(deployment)} asks for ${wanted} pods where ${allowed} are the most`]
  }

  /** Counts those that may still go, not those whose node has failed. */
  #checkFewer(deployment: Deployment, set: ReplicaSet, nowMs: number): readonly string[] {
    const uid = deployment.metadata?.uid ?? ''
    const available = this.#availablePods(uid)
    const ofSet = available.filter(pod => isControlledBy(pod, set)).length
    const removed = Math.max(0, ofSet - sizeOf(set))
    const seen = this.#available.of(uid, nowMs).map(({ count }) => count)
    const most = Math.max(available.length, ...seen)
    const least = Math.min(...this.#asked.of(uid, nowMs).map(({ availableMin }) => availableMin))
    if (removed === 0 || most - removed >= least) return []
    return [`deployment ${nameOf(deployment)} goes below ${least} available pods: ${most} less ${removed}`]
  }

  #sets(uid: string): readonly ReplicaSet[] {
    return this.#world.of('replicasets').filter(set => set.metadata?.ownerReferences?.[0]?.uid === uid)
  }

  #availablePods(uid: string): readonly Pod[] {
    const sets = new Set(this.#sets(uid).map(({ metadata }) => metadata?.uid))
    return this.#world.of('pods').filter(pod => {
      return sets.has(pod.metadata?.ownerReferences?.[0]?.uid) && isPodReady(pod) && !isBeingDeleted(pod)
    })
  }
}

function sizeOf(set: ReplicaSet | undefined): number {
  return set?.spec?.replicas ?? 0
}

function boundsOf({ spec }: Deployment): Bounds {
  const replicas = spec?.replicas ?? 1
  const { maxSurge = 1, maxUnavailable = 0 } = spec?.strategy?.rollingUpdate ?? {}
  const surge = spec?.strategy?.type === 'Recreate' ? 0 : (scaledValueRoundedUp(maxSurge, replicas) ?? 0)
  const missing = scaledValueRoundedDown(maxUnavailable, replicas) ?? 0
  const least =
    spec?.strategy?.type === 'Recreate' ? 0 : replicas - (surge === 0 && missing === 0 ? 1 : missing)
  return { podsMax: replicas + surge, availableMin: Math.max(0, least) }
}
