import type { Labels } from '#/api/labels.ts'
import type { FilterState, Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { AffinityTerm, PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import type { PodCounts, PodMatcher } from '../pod-counts.ts'
import { positionsIn } from '../pod-counts/positions.ts'
import { Tally } from '../pod-counts/tally.ts'
import type { Namespaces } from './namespaces.ts'
import { commonMatcher, termMatchesPod, podMatcherOf } from './term.ts'
import type { TermGroups } from './term-groups.ts'

const affinityStatus: Unschedulable = {
  reason: "node(s) didn't match pod affinity rules",
  isUnresolvable: true,
}
const antiAffinityStatus: Unschedulable = { reason: "node(s) didn't match pod anti-affinity rules" }
const existingAntiAffinityStatus: Unschedulable = {
  reason: "node(s) didn't satisfy existing pods anti-affinity rules",
}

export interface FilterWorld {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly namespaces: Namespaces
  readonly counts: PodCounts
  /** Required anti-affinity terms of existing pods. */
  readonly antiAffinities: TermGroups
}

/** Number of pods that a term selects, by domain. */
interface TermTally {
  readonly matcher: PodMatcher
  /** Domain by position of the node; -1 for none. */
  readonly domains: Int32Array
  readonly tally: Tally
}

interface ExistingTally {
  readonly topologyKey: string
  readonly domains: Int32Array
  readonly tally: Tally
}

interface Counted {
  /** For each affinity term: the pods that match all affinity terms. */
  readonly affinity: readonly TermTally[]
  /** Number of such pods in all domains. */
  readonly affinityCount: number
  readonly antiAffinity: readonly TermTally[]
  /** Existing pods with required anti-affinity to the incoming pod. */
  readonly existing: readonly ExistingTally[]
}

/** The constant part of a filter state. */
interface FilterContext {
  readonly pod: PodInfo
  readonly namespaceLabels: Labels | undefined
  /** True if the pod matches its own affinity terms, so that the first pod of a group can be scheduled. */
  readonly isNearItself: boolean
  readonly positionOf: (node: NodeInfo) => number
  readonly domainsOf: (topologyKey: string) => Int32Array
}

export function filterStateOf(world: FilterWorld): FilterState | undefined {
  const { pod, snapshot, namespaces, counts } = world
  const wantsNothing = pod.requiredAffinity.length === 0 && pod.requiredAntiAffinity.length === 0
  if (wantsNothing && snapshot.nodesWithRequiredAntiAffinity === 0) return undefined
  const namespaceLabels = namespaces.labelsOf(pod.namespace)
  const existing = existingTallies(world, namespaceLabels)
  if (wantsNothing && existing.length === 0) return undefined
  const tallyOf = ({ topologyKey }: AffinityTerm, matcher: PodMatcher): TermTally => {
    const { sums, topology } = counts.inDomains({ pods: matcher, topologyKey }, snapshot)
    return { matcher, domains: topology.at(snapshot), tally: new Tally(sums.slice()) }
  }
  const near = commonMatcher(pod.requiredAffinity.map(term => podMatcherOf(term, namespaces)))
  const affinity = pod.requiredAffinity.map(term => tallyOf(term, near))
  const context: FilterContext = {
    pod,
    namespaceLabels,
    isNearItself: near.matches(pod),
    positionOf: positionsIn(snapshot),
    domainsOf: key => counts.topologies.of(key, snapshot).at(snapshot),
  }
  return stateWith(context, {
    affinity,
    affinityCount: affinity.reduce((count, { tally }) => count + tally.total(), 0),
    antiAffinity: pod.requiredAntiAffinity.map(term => tallyOf(term, podMatcherOf(term, namespaces))),
    existing,
  })
}

function existingTallies(
  { pod, snapshot, antiAffinities }: FilterWorld,
  namespaceLabels: Labels | undefined,
): readonly ExistingTally[] {
  if (snapshot.nodesWithRequiredAntiAffinity === 0) return []
  const weights = antiAffinities.weightsFor(pod, namespaceLabels, snapshot)
  return Array.from(weights, ([topology, counts]) => ({
    topologyKey: topology.key,
    domains: topology.at(snapshot),
    tally: new Tally(counts),
  }))
}

function stateWith(context: FilterContext, counted: Counted): FilterState {
  const { positionOf, isNearItself } = context
  const { affinity, affinityCount, antiAffinity, existing } = counted
  const mayBegin = isNearItself && affinityCount === 0
  return {
    filter: node => {
      const position = positionOf(node)
      for (const { domains, tally } of affinity) {
        const domain = domains[position] ?? -1
        if (domain === -1 || (tally.get(domain) <= 0 && !mayBegin)) return affinityStatus
      }
      if (isAnyIn(antiAffinity, position)) return antiAffinityStatus
      return isAnyIn(existing, position) ? existingAntiAffinityStatus : undefined
    },
    addPod: (pod, node) => stateWith(context, changed(context, counted, { pod, node, delta: 1 })),
    removePod: (pod, node) => stateWith(context, changed(context, counted, { pod, node, delta: -1 })),
  }
}

function isAnyIn(
  tallies: readonly { readonly domains: Int32Array; readonly tally: Tally }[],
  position: number,
): boolean {
  for (const { domains, tally } of tallies) {
    const domain = domains[position] ?? -1
    if (domain !== -1 && tally.get(domain) > 0) return true
  }
  return false
}

interface Move {
  readonly pod: PodInfo
  readonly node: NodeInfo
  readonly delta: 1 | -1
}

function changed(context: FilterContext, counted: Counted, { pod, node, delta }: Move): Counted {
  const position = context.positionOf(node)
  const plus = <T extends ExistingTally | TermTally>(each: T, isOne: boolean): T => {
    const domain = each.domains[position] ?? -1
    return isOne && domain !== -1 ? { ...each, tally: each.tally.plus(domain, delta) } : each
  }
  const affinity = counted.affinity.map(each => plus(each, each.matcher.matches(pod)))
  const moved = affinity.filter((each, index) => each !== counted.affinity[index]).length
  return {
    affinity,
    affinityCount: counted.affinityCount + moved * delta,
    antiAffinity: counted.antiAffinity.map(each => plus(each, each.matcher.matches(pod))),
    existing: pod.requiredAntiAffinity
      .filter(term => termMatchesPod(term, context.pod, context.namespaceLabels))
      .reduce<readonly ExistingTally[]>((tallies, { topologyKey }) => {
        return withTopology(tallies, topologyKey, context).map(each =>
          plus(each, each.topologyKey === topologyKey),
        )
      }, counted.existing),
  }
}

function withTopology(
  tallies: readonly ExistingTally[],
  topologyKey: string,
  { domainsOf }: FilterContext,
): readonly ExistingTally[] {
  if (tallies.some(each => each.topologyKey === topologyKey)) return tallies
  return [...tallies, { topologyKey, domains: domainsOf(topologyKey), tally: new Tally(nothing) }]
}

const nothing = new Int32Array(0)
