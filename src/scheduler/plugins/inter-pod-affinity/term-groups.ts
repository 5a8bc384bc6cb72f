import { labelOf, type Labels } from '#/api/labels.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { AffinityTerm, PodInfo, WeightedTerm } from '../../pod-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import { eachPodChange } from '../pod-counts/pod-changes.ts'
import type { Topologies, Topology } from '../pod-counts/topology.ts'
import { termMatchesPod } from './term.ts'

/** Identical terms of pods on nodes, such as those of one Deployment. */
interface TermGroup {
  readonly term: AffinityTerm
  readonly topology: Topology
  /** Total weight by domain; zero totals are absent. */
  readonly weights: Map<number, number>
  /** Number of terms, since their weights may cancel out. */
  size: number
}

export interface TermGroupsOptions {
  readonly topologies: Topologies
  /** The pods of a node with relevant terms; must return the same array while unchanged. */
  readonly podsOf: (info: NodeInfo) => readonly PodInfo[]
  readonly termsOf: (pod: PodInfo) => readonly WeightedTerm[]
}

/**
 * The terms of all existing pods, grouped by content, so that an incoming pod is compared once with each
 * distinct term. Updated incrementally between snapshots.
 */
export class TermGroups {
  readonly #options: TermGroupsOptions
  /** By a label that the term requires, then by content of the term. */
  readonly #groups = new Map<string, Map<string, TermGroup>>()
  readonly #topologies = new Map<string, Topology>()
  #snapshot = emptySnapshot

  constructor(options: TermGroupsOptions) {
    this.#options = options
  }

  /** The total weight in each domain, by topology, of the terms that select the pod. */
  weightsFor(
    pod: PodInfo,
    namespaceLabels: Labels | undefined,
    snapshot: Snapshot,
  ): ReadonlyMap<Topology, Int32Array> {
    this.#show(snapshot)
    const sums = new Map<Topology, Int32Array>()
    const look = (label: string): void => {
      for (const { term, topology, weights } of this.#groups.get(label)?.values() ?? []) {
        if (!termMatchesPod(term, pod, namespaceLabels)) continue
        const sum = sums.get(topology) ?? new Int32Array(topology.size)
        sums.set(topology, sum)
        for (const [domain, weight] of weights) sum[domain]! += weight
      }
    }
    look(anyLabel)
    for (const key of Object.keys(pod.labels)) look(`${key}=${pod.labels[key]}`)
    return sums
  }

  #show(snapshot: Snapshot): void {
    if (snapshot === this.#snapshot) return
    const { topologies, podsOf, termsOf } = this.#options
    const isRenumbered = this.#topologies
      .values()
      .some(topology => topologies.of(topology.key, snapshot) !== topology)
    if (isRenumbered) {
      this.#groups.clear()
      this.#topologies.clear()
      this.#snapshot = emptySnapshot
    }
    eachPodChange({ before: this.#snapshot, after: snapshot }, podsOf, (pod, info, sign) => {
      for (const { term, weight } of termsOf(pod)) {
        const isAboutNobody = term.selector.selectsNothing
        // Topology keys that no node has are skipped.
        if (isAboutNobody || labelOf(info.labels, term.topologyKey) === undefined) continue
        const topology = this.#topologyOf(term, snapshot)
        this.#add(this.#groupOf(term, topology), topology.domainOf(info.labels), { weight, sign })
      }
    })
    this.#snapshot = snapshot
  }

  #add(
    group: TermGroup,
    domain: number,
    { weight, sign }: { readonly weight: number; readonly sign: 1 | -1 },
  ): void {
    const sum = (group.weights.get(domain) ?? 0) + weight * sign
    if (sum === 0) group.weights.delete(domain)
    else group.weights.set(domain, sum)
    group.size += sign
    if (group.size === 0) this.#forget(group.term)
  }

  #groupOf(term: AffinityTerm, topology: Topology): TermGroup {
    const label = requiredLabel(term)
    const key = textOf(term)
    const alike = this.#groups.get(label)
    const known = alike?.get(key)
    if (known !== undefined) return known
    const made: TermGroup = { term, topology, weights: new Map(), size: 0 }
    if (alike === undefined) this.#groups.set(label, new Map([[key, made]]))
    else alike.set(key, made)
    return made
  }

  #forget(term: AffinityTerm): void {
    const label = requiredLabel(term)
    const alike = this.#groups.get(label)
    alike?.delete(textOf(term))
    if (alike?.size === 0) this.#groups.delete(label)
  }

  #topologyOf({ topologyKey }: AffinityTerm, snapshot: Snapshot): Topology {
    const known = this.#topologies.get(topologyKey)
    if (known !== undefined) return known
    const made = this.#options.topologies.of(topologyKey, snapshot)
    this.#topologies.set(topologyKey, made)
    return made
  }
}

/** Key of terms that require no exact label value. */
const anyLabel = ''

function requiredLabel({ selector }: AffinityTerm): string {
  const found = selector.requirements.find(({ key }) => selector.requiresExact(key) !== undefined)
  return found === undefined ? anyLabel : `${found.key}=${found.values[0]}`
}

/** Canonical text of a term. */
function textOf({ topologyKey, namespaces, namespaceSelector, selector }: AffinityTerm): string {
  const names = [...namespaces].toSorted().join()
  return `${topologyKey}\n${names}\n${namespaceSelector?.toString() ?? '-'}\n${selector.toString()}`
}
