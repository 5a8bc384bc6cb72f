/**
 * How many pods of a kind are on each node and in each domain of a topology. Pods that look the same are counted
 * together when somebody asks for a kind that is new; after that it costs what has changed from snapshot to snapshot. A
 * kind is known by its key: pods of one Deployment ask for the same kinds, one after the other.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { PluginContext } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Snapshot } from '../snapshot.ts'
import { DomainCounts } from './pod-counts/domain-counts.ts'
import { LabelSets } from './pod-counts/label-sets.ts'
import { NodeCounts } from './pod-counts/node-counts.ts'
import { Topologies } from './pod-counts/topology.ts'

/** Which pods count. Two with the same key are the same. */
export interface PodKind {
  readonly key: string
  /** Looks at nothing but namespace, labels and whether it is being deleted. */
  readonly isOne: (pod: PodInfo) => boolean
}

/** Which nodes count. Two with the same key are the same. */
export interface NodeKind {
  readonly key: string
  /** The test, which is made when it is first asked for; it must depend on nothing but the node. */
  readonly test: () => (info: NodeInfo) => boolean
}

export interface DomainQuestion {
  readonly pods: PodKind
  readonly topologyKey: string
  /** All when absent. */
  readonly nodes?: NodeKind | undefined
}

/** Kinds that are remembered, each some numbers for every node. Past that the one not used for longest goes. */
const kindsMax = 256

const known = new WeakMap<PluginContext, PodCounts>()

/** The same for all plugins of a scheduler. */
export function podCountsOf(context: PluginContext): PodCounts {
  const counts = known.get(context) ?? new PodCounts()
  known.set(context, counts)
  return counts
}

export class PodCounts {
  readonly topologies = new Topologies()
  readonly #labelSets = new LabelSets()
  readonly #onNodes = new LruMap<string, NodeCounts>(kindsMax)
  readonly #inDomains = new LruMap<string, DomainCounts>(kindsMax)

  /** By position of the node. Good until another snapshot is asked about. */
  onNodes(pods: PodKind, snapshot: Snapshot): Int32Array {
    return this.#nodeCounts(pods).at(snapshot)
  }

  /** Good until another snapshot is asked about. */
  inDomains({ pods, topologyKey, nodes }: DomainQuestion, snapshot: Snapshot): DomainCounts {
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

  #nodeCounts({ key, isOne }: PodKind): NodeCounts {
    const known = this.#onNodes.get(key)
    if (known !== undefined) return known
    const made = new NodeCounts(this.#labelSets, isOne)
    this.#onNodes.set(key, made)
    return made
  }
}
