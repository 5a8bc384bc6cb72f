import { scoreMax, type ScoreState } from '../../framework.ts'
import type { PodInfo, WeightedTerm } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import type { PodCounts } from '../pod-counts.ts'
import { positionsIn } from '../pod-counts/positions.ts'
import type { Topology } from '../pod-counts/topology.ts'
import type { Namespaces } from './namespaces.ts'
import { podMatcherOf } from './term.ts'
import type { TermGroups } from './term-groups.ts'

export interface ScoreWorld {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly namespaces: Namespaces
  readonly counts: PodCounts
  /** Terms of existing pods that affect scores. */
  readonly preferences: TermGroups
}

/** The preferred terms of a pod; anti-affinity has negative weight. */
export function preferencesOf(pod: PodInfo): readonly WeightedTerm[] {
  if (pod.preferredAntiAffinity.length === 0) return pod.preferredAffinity
  const against = pod.preferredAntiAffinity.map(({ weight, term }) => ({ weight: -weight, term }))
  return [...pod.preferredAffinity, ...against]
}

export function scoreStateOf(world: ScoreWorld): ScoreState | undefined {
  const { snapshot } = world
  const weights = Array.from(weightsOf(world), ([topology, byDomain]) => ({
    domains: topology.at(snapshot),
    byDomain,
  }))
  if (weights.length === 0) return undefined
  const positionOf = positionsIn(snapshot)
  return {
    score: node => {
      const position = positionOf(node)
      let sum = 0
      for (const { domains, byDomain } of weights) {
        const domain = domains[position] ?? -1
        if (domain !== -1) sum += byDomain[domain] ?? 0
      }
      return sum
    },
    normalizeScore: stretch,
  }
}

/** The weight of each domain by topology: from the terms of the incoming pod and those of existing pods. */
function weightsOf({
  pod,
  snapshot,
  namespaces,
  counts,
  preferences,
}: ScoreWorld): ReadonlyMap<Topology, Int32Array> {
  const existing =
    snapshot.nodesWithAffinity === 0
      ? []
      : preferences.weightsFor(pod, namespaces.labelsOf(pod.namespace), snapshot)
  const weights = new Map(existing)
  for (const { weight, term } of preferencesOf(pod)) {
    const { topologyKey } = term
    const { sums, topology } = counts.inDomains(
      { pods: podMatcherOf(term, namespaces), topologyKey },
      snapshot,
    )
    const before = weights.get(topology)
    const sum = new Int32Array(Math.max(sums.length, before?.length ?? 0))
    for (let domain = 0; domain < sum.length; domain++) {
      sum[domain] = (sums[domain] ?? 0) * weight + (before?.[domain] ?? 0)
    }
    weights.set(topology, sum)
  }
  return weights
}

/** Scales linearly from the minimum (0) to the maximum (100); all 0 if the scores are equal. */
function stretch(scores: Float64Array): void {
  let least = Infinity
  let most = -Infinity
  for (const score of scores) {
    if (score < least) least = score
    if (score > most) most = score
  }
  for (let index = 0; index < scores.length; index++) {
    scores[index] = most > least ? Math.trunc(scoreMax * ((scores[index]! - least) / (most - least))) : 0
  }
}
