import { isBeingDeleted } from '#/api/metadata.ts'
import type { PodInfo } from '../../pod-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import { eachPodChange } from './pod-changes.ts'

/** Pods with the same namespace, labels and deletion state. */
interface LabelSet {
  readonly one: PodInfo
  /** By node name. */
  readonly counts: Map<string, number>
}

/**
 * The pods of all nodes, grouped by label set: there are far fewer sets than pods, and the first count of a
 * matcher examines one pod of each set.
 */
export class LabelSets {
  readonly #sets = new Map<string, LabelSet>()
  #snapshot = emptySnapshot

  /** Number of matching pods on each node, by position. */
  count(matches: (pod: PodInfo) => boolean, snapshot: Snapshot): Int32Array<ArrayBuffer> {
    this.#show(snapshot)
    const at = new Int32Array(snapshot.nodes.length)
    for (const { one, counts } of this.#sets.values()) {
      if (!matches(one)) continue
      for (const [name, count] of counts) at[snapshot.positions.get(name)!]! += count
    }
    return at
  }

  #show(snapshot: Snapshot): void {
    if (snapshot === this.#snapshot) return
    eachPodChange(
      { before: this.#snapshot, after: snapshot },
      ({ pods }) => pods,
      (pod, { name }, sign) => {
        const key = lookOf(pod)
        const set = this.#sets.get(key) ?? { one: pod, counts: new Map<string, number>() }
        if (set.counts.size === 0) this.#sets.set(key, set)
        const count = (set.counts.get(name) ?? 0) + sign
        if (count === 0) set.counts.delete(name)
        else set.counts.set(name, count)
        if (set.counts.size === 0) this.#sets.delete(key)
      },
    )
    this.#snapshot = snapshot
  }
}

function lookOf({ pod, namespace, labels }: PodInfo): string {
  return `${isBeingDeleted(pod)} ${namespace} ${JSON.stringify(labels)}`
}
