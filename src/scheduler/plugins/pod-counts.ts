/**
 * Counts matching pods on each node and in each topology domain. The first count of a matcher examines one pod of each
 * label set with a required label; afterwards counts are updated incrementally between snapshots. Matchers are cached
 * by key: the pods of one Deployment use the same matchers.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { Selector } from '#/api/selectors/selector.ts'
import type { PluginHandle } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { DomainCounts } from './pod-counts/domain-counts.ts'
import { LabelSets } from './pod-counts/label-sets.ts'
import { NodeCounts } from './pod-counts/node-counts.ts'
import { Topologies } from './pod-counts/topology.ts'

/** A predicate on pods; equal keys mean equal predicates. */
export interface PodMatcher {
  readonly key: string
  /** Must depend only on namespace, labels and whether the pod is being deleted. */
  readonly matches: (pod: PodInfo) => boolean
  /** Selects at least all pods that match. */
  readonly selector?: Selector | undefined
}

/** A predicate on nodes; equal keys mean equal predicates. */
export interface NodeMatcher {
  readonly key: string
  /** Creates the test on first use; it must depend only on the node. */
  readonly test: () => (info: NodeInfo) => boolean
}

export interface DomainQuery {
  readonly pods: PodMatcher
  readonly topologyKey: string
  /** All nodes when absent. */
  readonly nodes?: NodeMatcher | undefined
}

/** Maximum number of cached matchers, each with a few numbers per node; the least recently used is evicted. */
const matchersMax = 256

const known = new WeakMap<PluginHandle, PodCounts>()

/** Shared by all plugins of a scheduler. */
export function podCountsOf(handle: PluginHandle): PodCounts {
  const counts = known.get(handle) ?? new PodCounts()
  known.set(handle, counts)
  return counts
}

export class PodCounts {
  readonly topologies = new Topologies()
  readonly #labelSets = new LabelSets()
  readonly #onNodes = new LruMap<string, NodeCounts>(matchersMax)
  readonly #inDomains = new LruMap<string, DomainCounts>(matchersMax)

  /** By position of the node. Valid until the next call with another snapshot. */
  onNodes(pods: PodMatcher, snapshot: Snapshot): Int32Array {
    return this.#nodeCounts(pods).at(snapshot)
  }

  /** Valid until the next call with another snapshot. */
  inDomains({ pods, topologyKey, nodes }: DomainQuery, snapshot: Snapshot): DomainCounts {
    const topology = this.topologies.of(topologyKey, snapshot)
    const key = `${topologyKey}\n${nodes?.key ?? ''}\n${pods.key}`
    const known = this.#inDomains.get(key)
    const counts =
      known?.topology === topology
        ? known
        : new DomainCounts({ topology, pods: this.#nodeCounts(pods), isIncluded: nodes?.test() })
    if (counts !== known) this.#inDomains.set(key, counts)
    counts.show(snapshot)
    return counts
  }

  #nodeCounts(matcher: PodMatcher): NodeCounts {
    const known = this.#onNodes.get(matcher.key)
    if (known !== undefined) return known
    const made = new NodeCounts(this.#labelSets, matcher)
    this.#onNodes.set(matcher.key, made)
    return made
  }
}
