import { isBeingDeleted } from '#/api/metadata.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { PodInfo } from '../../pod-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import type { PodMatcher } from '../pod-counts.ts'
import { eachPodChange } from './pod-changes.ts'

/** Pods with the same namespace, labels and deletion state. */
interface LabelSet {
  readonly key: string
  readonly one: PodInfo
  /** By node name. */
  readonly counts: Map<string, number>
}

/**
 * The pods of all nodes, grouped by label set: there are far fewer sets than pods, and the first count of a
 * matcher examines one pod of each set that has a label required by the matcher.
 */
export class LabelSets {
  readonly #sets = new Map<string, LabelSet>()
  /** By each of their labels. Contains no empty sets. */
  readonly #byLabel = new Map<string, Set<LabelSet>>()
  #snapshot = emptySnapshot

  /** Number of matching pods on each node, by position. */
  count({ matches, selector }: PodMatcher, snapshot: Snapshot): Int32Array<ArrayBuffer> {
    this.#show(snapshot)
    const at = new Int32Array(snapshot.nodes.length)
    for (const { one, counts } of this.#candidates(selector)) {
      if (!matches(one)) continue
      for (const [name, count] of counts) at[snapshot.positions.get(name)!]! += count
    }
    return at
  }

  /** The sets with that label value of all required ones which the fewest sets have. */
  #candidates(selector: Selector | undefined): Iterable<LabelSet> {
    let fewest: Pick<ReadonlySet<LabelSet>, 'size' | 'values'> = this.#sets
    for (const { key } of selector?.requirements ?? []) {
      const value = selector?.requiresExact(key)
      if (value === undefined) continue
      const sets = this.#byLabel.get(labelKey(key, value)) ?? none
      if (sets.size < fewest.size) fewest = sets
    }
    return fewest.values()
  }

  #show(snapshot: Snapshot): void {
    if (snapshot === this.#snapshot) return
    eachPodChange(
      { before: this.#snapshot, after: snapshot },
      ({ pods }) => pods,
      (pod, { name }, sign) => {
        const key = lookOf(pod)
        const set = this.#sets.get(key) ?? this.#add({ key, one: pod, counts: new Map() })
        const count = (set.counts.get(name) ?? 0) + sign
        if (count === 0) set.counts.delete(name)
        else set.counts.set(name, count)
        if (set.counts.size === 0) this.#delete(set)
      },
    )
    this.#snapshot = snapshot
  }

  #add(set: LabelSet): LabelSet {
    this.#sets.set(set.key, set)
    for (const label of labelKeysOf(set)) this.#byLabel.getOrInsertComputed(label, () => new Set()).add(set)
    return set
  }

  #delete(set: LabelSet): void {
    this.#sets.delete(set.key)
    for (const label of labelKeysOf(set)) {
      const sets = this.#byLabel.get(label)
      sets?.delete(set)
      if (sets?.size === 0) this.#byLabel.delete(label)
    }
  }
}

const none: ReadonlySet<LabelSet> = new Set()

function lookOf({ pod, namespace, labels }: PodInfo): string {
  return `${isBeingDeleted(pod)} ${namespace} ${JSON.stringify(labels)}`
}

function labelKeysOf({ one }: LabelSet): readonly string[] {
  return Object.entries(one.labels).map(([name, value]) => labelKey(name, value))
}

function labelKey(name: string, value: string): string {
  return `${name}=${value}`
}
