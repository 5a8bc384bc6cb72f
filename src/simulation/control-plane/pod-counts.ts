import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { controllerOf } from '#/api/metadata.ts'
import { isPodActive } from '#/controllers/pods.ts'
import type { Doubts } from './doubts.ts'
import { RecentPast } from './staleness.ts'
import { nameOf, type Changed, type World } from './world.ts'

/**
 * Nobody makes more pods than he is asked for: a replica set not more than its replicas, a daemon set not more than one
 * on a node, and one more while it is updated with a surge. Pods that were adopted do not count.
 */
export class PodCounts {
  readonly #world: World
  readonly #doubts: Doubts
  readonly #asked = new RecentPast<{ readonly most: number }>()
  /** Pods that were made for an owner, by its uid. */
  readonly #made = new Map<string, Set<string>>()

  constructor(world: World, doubts: Doubts) {
    this.#world = world
    this.#doubts = doubts
  }

  check({ folder, before, after, nowMs }: Changed): readonly string[] {
    if (after === undefined) return []
    const uid = after.metadata?.uid ?? ''
    if (folder === 'replicasets') this.#asked.note(uid, nowMs, { most: after.spec?.replicas ?? 1 })
    if (folder === 'daemonsets') this.#asked.note(uid, nowMs, { most: hasSurge(after) ? 2 : 1 })
    if (folder !== 'pods' || before !== undefined) return []
    const owner = controllerOf(after)
    const account = accounts[owner?.kind ?? '']
    if (owner === undefined || account === undefined) return []
    const made = this.#made.get(owner.uid) ?? new Set()
    this.#made.set(owner.uid, made.add(uid))
    const most = Math.max(...this.#asked.of(owner.uid, nowMs).map(each => each.most))
    const count = this.#world.of('pods').filter(pod => {
      return made.has(pod.metadata?.uid ?? '') && isPodActive(pod) && isOnSameNode(pod, after)
    }).length
    if (count <= most || this.#doubts.about(account)) return []
    return [`${owner.kind} ${owner.name} has ${count} pods with ${nameOf(after)}, and ${most} are the most`]
  }
}

const accounts: Readonly<Record<string, string>> = {
  ReplicaSet: 'replicaset-controller',
  DaemonSet: 'daemon-set-controller',
}

function hasSurge(set: DaemonSet): boolean {
  const surge = set.spec?.updateStrategy?.rollingUpdate?.maxSurge ?? 0
  return surge !== 0 && surge !== '0%'
}

/** Pods of a daemon set are meant for a node from the beginning; those of others are not. */
function isOnSameNode(left: Pod, right: Pod): boolean {
  return nodeOf(left) === nodeOf(right)
}

function nodeOf({ spec }: Pod): string | undefined {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  return terms?.[0]?.matchFields?.[0]?.values?.[0]
}
