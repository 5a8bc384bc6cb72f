import type { DaemonSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf, controllerOf } from '#/api/metadata.ts'
import { isPodActive } from '#/controllers/pods.ts'
import type { UncertainWrites } from './uncertain-writes.ts'
import { RecentHistory } from './recent-history.ts'
import type { Changed, World } from './world.ts'

/**
 * Checks that controllers do not create too many pods: a ReplicaSet at most its replicas, a DaemonSet one per
 * node, or two with surge. Adopted pods do not count.
 */
export class PodCounts {
  readonly #world: World
  readonly #uncertainWrites: UncertainWrites
  readonly #asked = new RecentHistory<{ readonly most: number }>()
  /** Pods created for an owner, by the owner's uid. */
  readonly #made = new Map<string, Set<string>>()

  constructor(world: World, uncertainWrites: UncertainWrites) {
    this.#world = world
    this.#uncertainWrites = uncertainWrites
  }

  check({ resourcePrefix, before, after, nowMs }: Changed): readonly string[] {
    if (after === undefined) return []
    const uid = after.metadata.uid
    if (resourcePrefix === 'replicasets') this.#asked.note(uid, nowMs, { most: after.spec?.replicas ?? 1 })
    if (resourcePrefix === 'daemonsets') this.#asked.note(uid, nowMs, { most: hasSurge(after) ? 2 : 1 })
    if (resourcePrefix !== 'pods' || before !== undefined) return []
    const owner = controllerOf(after)
    const account = accounts[owner?.kind ?? '']
    if (owner === undefined || account === undefined) return []
    const made = this.#made.getOrInsertComputed(owner.uid, () => new Set()).add(uid)
    const most = Math.max(...this.#asked.of(owner.uid, nowMs).map(each => each.most))
    const count = this.#world.of('pods').filter(pod => {
      return made.has(pod.metadata.uid) && isPodActive(pod) && isOnSameNode(pod, after)
    }).length
    if (count <= most || this.#uncertainWrites.isUncertain(account)) return []
    return [`${owner.kind} ${owner.name} has ${count} pods including ${keyOf(after)}, limit ${most}`]
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

/** Only pods of a DaemonSet name their node from the beginning. */
function isOnSameNode(left: Pod, right: Pod): boolean {
  return nodeOf(left) === nodeOf(right)
}

function nodeOf({ spec }: Pod): string | undefined {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  return terms?.[0]?.matchFields?.[0]?.values?.[0]
}
