import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import { statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import {
  keyOf,
  controllerOf,
  isBeingDeleted,
  isControlledBy,
  type Named,
  type Stored,
} from '#/api/metadata.ts'
import type { ApiRequest } from '#/api/transport.ts'
import type { Informers } from '#/client/informers.ts'
import { isPodTerminal, isPodReady } from '#/controllers/pods.ts'
import { staleMs } from './recent-history.ts'
import type { Changed, World } from './world.ts'

/**
 * Checks that a pod of an ordered StatefulSet is created only if all lower ordinals exist, or existed
 * recently: the controller may not have observed their deletion yet.
 */
export class OrdinalOrder {
  readonly #world: World
  /** Time of the last deletion of a pod, by set uid and ordinal. */
  readonly #deletedMs = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
  }

  check({ resourcePrefix, before, after, nowMs }: Changed): readonly string[] {
    if (resourcePrefix !== 'pods') return []
    const pod = after ?? before
    const owner = pod && controllerOf(pod)
    if (owner?.kind !== 'StatefulSet') return []
    if (after === undefined) this.#deletedMs.set(`${owner.uid} ${ordinalOf(before)}`, nowMs)
    const set = this.#world.byUid(owner.uid) as Stored<StatefulSet> | undefined
    if (before !== undefined || after === undefined || set === undefined || !isOrdered(set)) return []
    const ordinals = new Set(this.#world.podsOf(set).map(ordinalOf))
    const start = set.spec?.ordinals?.start ?? 0
    const gaps = Array.from({ length: Math.max(0, ordinalOf(after) - start) }, (_, index) => start + index)
      .filter(each => !ordinals.has(each))
      .filter(each => nowMs - (this.#deletedMs.get(`${owner.uid} ${each}`) ?? -Infinity) > staleMs)
    if (gaps.length === 0) return []
    return [
      `pod ${after.metadata.name} is created before ${gaps.map(each => `${owner.name}-${each}`).join()}`,
    ]
  }
}

/**
 * Checks that a pod is created only if all lower ordinals are healthy, and that scale-downs and updates start
 * with the highest ordinal. Evaluated on the controller's own informers when it sends the request, since
 * concurrent changes are not its fault.
 */
export function checkSequence(request: ApiRequest, informers: Informers): readonly string[] {
  const [, namespace = '', name] = podPath.exec(request.path) ?? []
  const all = informers.of(pods)
  const isCreation = request.method === 'POST' && podPath.test(request.path)
  const pod = isCreation ? (request.body.value as Named<Pod>) : all.get(`${namespace}/${name}`)
  if (pod === undefined || (!isCreation && request.method !== 'DELETE')) return []
  const set = informers.of(statefulSets).get(`${namespace}/${controllerOf(pod)?.name}`)
  if (set === undefined || !isControlledBy(pod, set) || !isOrdered(set)) return []
  const siblings = all.inNamespace(namespace).filter(each => isControlledBy(each, set))
  return isCreation ? checkCreation(set, pod, siblings) : checkRemoval(set, pod, siblings)
}

const podPath = /^\/api\/v1\/namespaces\/([^/]+)\/pods(?:\/([^/]+))?$/

function checkCreation(
  set: Stored<StatefulSet>,
  pod: Named<Pod>,
  siblings: readonly Stored<Pod>[],
): readonly string[] {
  const before = siblings.filter(each => ordinalOf(each) < ordinalOf(pod))
  const missing = ordinalOf(pod) - (set.spec?.ordinals?.start ?? 0) - before.filter(isHealthy).length
  if (missing <= 0) return []
  return [
    `StatefulSet ${keyOf(set)} creates ${keyOf(pod)} while ${missing} pods with lower ordinals are not healthy`,
  ]
}

function checkRemoval(
  set: Stored<StatefulSet>,
  pod: Named<Pod>,
  siblings: readonly Stored<Pod>[],
): readonly string[] {
  if (isPodTerminal(pod)) return []
  const ordinal = ordinalOf(pod)
  const above = siblings.filter(each => ordinalOf(each) > ordinal)
  const end = (set.spec?.ordinals?.start ?? 0) + (set.spec?.replicas ?? 1)
  const what = `StatefulSet ${keyOf(set)} deletes ${keyOf(pod)}`
  if (ordinal >= end) return above.length === 0 ? [] : [`${what} before ${above.map(keyOf).join()}`]
  const missing = end - 1 - ordinal - above.filter(isHealthy).length
  return missing <= 0
    ? []
    : [`${what} for an update while ${missing} pods with higher ordinals are not healthy`]
}

function isHealthy(pod: Pod): boolean {
  return isPodReady(pod) && !isBeingDeleted(pod)
}

function isOrdered({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy !== 'Parallel'
}

function ordinalOf(pod: Named<Pod> | undefined): number {
  return Number(/-(\d+)$/.exec(pod?.metadata.name ?? '')?.[1] ?? -1)
}
