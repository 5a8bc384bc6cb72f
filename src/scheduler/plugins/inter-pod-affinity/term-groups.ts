import { labelOf, type Labels } from '#/api/labels.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { AffinityTerm, PodInfo, WeightedTerm } from '../../pod-info.ts'
import { emptySnapshot, type Snapshot } from '../../snapshot.ts'
import { eachPodChange } from '../pod-counts/pod-changes.ts'
import type { Topologies, Topology } from '../pod-counts/topology.ts'
import { isMeant } from './term.ts'

/** Terms of pods on nodes that say the same, as those of one Deployment do. */
interface TermGroup {
  readonly term: AffinityTerm
  readonly topology: Topology
  /** By domain, what they weigh together; those that come to nothing are not there. */
  readonly weights: Map<number, number>
  /** How many terms there are: weights may come to nothing though there are some. */
  size: number
}

export interface TermGroupsOptions {
  readonly topologies: Topologies
  /** The pods of a node whose terms are looked at: the same list as long as they are the same. */
  readonly podsOf: (info: NodeInfo) => readonly PodInfo[]
  readonly termsOf: (pod: PodInfo) => readonly WeightedTerm[]
}

/**
 * What the pods on all nodes say of others, the same things put together, so that a new pod is compared with each thing
 * once, however many pods say it. Kept up from snapshot to snapshot.
 */
export class TermGroups {
  readonly #options: TermGroupsOptions
  /** By a label that pods must have whom the term is about, then by what the term says. */
  readonly #groups = new Map<string, Map<string, TermGroup>>()
  readonly #topologies = new Map<string, Topology>()
  #snapshot = emptySnapshot

  constructor(options: TermGroupsOptions) {
    this.#options = options
  }

  /** By topology, what terms that are about the pod weigh in each domain. */
  weightsFor(
    pod: PodInfo,
    namespaceLabels: Labels | undefined,
    snapshot: Snapshot,
  ): ReadonlyMap<Topology, Int32Array> {
    this.#show(snapshot)
    const sums = new Map<Topology, Int32Array>()
    const look = (label: string): void => {
      for (const { term, topology, weights } of this.#groups.get(label)?.values() ?? []) {
        if (!isMeant(term, pod, namespaceLabels)) continue
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
    eachPodChange(this.#snapshot, snapshot, podsOf, (pod, info, sign) => {
      for (const { term, weight } of termsOf(pod)) {
        const isAboutNobody = term.selector.selectsNothing
        // A topology that no node has is not worth being remembered.
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

/** For terms that name no label with its value. */
const anyLabel = ''

function requiredLabel({ selector }: AffinityTerm): string {
  const found = selector.requirements.find(({ key }) => selector.requiresExact(key) !== undefined)
  return found === undefined ? anyLabel : `${found.key}=${found.values[0]}`
}

/** The same for terms that say the same. */
function textOf({ topologyKey, namespaces, namespaceSelector, selector }: AffinityTerm): string {
  const names = [...namespaces].toSorted().join()
  return `${topologyKey}\n${names}\n${namespaceSelector?.toString() ?? '-'}\n${selector.toString()}`
}
