import { scoreMax, type ScoreState } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import type { PodCounts } from '../pod-counts.ts'
import { positionsIn } from '../pod-counts/positions.ts'
import { nodesOf, type Constraint } from './constraints.ts'
import { keysOf } from './filter.ts'

export interface ScoreWorld {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  /** The feasible nodes. */
  readonly nodes: readonly NodeInfo[]
  readonly counts: PodCounts
  /** Not empty. */
  readonly constraints: readonly Constraint[]
  /**
   * If true, nodes without one of the labels get the lowest score; otherwise that constraint is skipped for
   * them.
   */
  readonly needsAllKeys: boolean
}

const hostnameKey = 'kubernetes.io/hostname'

/** Raw score of a node without a required label, before normalization. */
const outside = -1

/** Counts of one constraint, by domain; by node position for the hostname topology. */
interface Spread {
  readonly domains: Int32Array
  readonly isHostname: boolean
  readonly pods: Int32Array
  readonly weight: number
  /** maxSkew - 1, which reduces the effect of small differences. */
  readonly allowance: number
}

/** Raw scores are weighted pod counts; normalization reverses them, so that fewer pods are better. */
export function scoreStateOf(world: ScoreWorld): ScoreState {
  const { snapshot, needsAllKeys } = world
  const spreads = spreadsOf(world)
  const positionOf = positionsIn(snapshot)
  return {
    score: node => {
      const position = positionOf(node)
      let sum = 0
      for (const { domains, isHostname, pods, weight, allowance } of spreads) {
        const domain = domains[position] ?? -1
        if (domain !== -1) sum += (pods[isHostname ? position : domain] ?? 0) * weight + allowance
        else if (needsAllKeys) return outside
      }
      return Math.round(sum)
    },
    normalizeScore: normalize,
  }
}

function spreadsOf({
  pod,
  snapshot,
  nodes,
  counts,
  constraints,
  needsAllKeys,
}: ScoreWorld): readonly Spread[] {
  const keys = needsAllKeys ? keysOf(constraints) : []
  const topologies = keysOf(constraints).map(key => counts.topologies.of(key, snapshot).at(snapshot))
  const positionOf = positionsIn(snapshot)
  const positions = nodes.map(positionOf)
  const compared = needsAllKeys
    ? positions.filter(position => topologies.every(domains => domains[position] !== -1))
    : positions
  return constraints.map((constraint): Spread => {
    const { topologyKey, pods, maxSkew } = constraint
    // Weight by topology size: with more domains, a single pod in one of them counts more.
    const weightOf = (domainCount: number): number => Math.log(domainCount + 2)
    const allowance = maxSkew - 1
    if (topologyKey === hostnameKey) {
      const domains = counts.topologies.of(topologyKey, snapshot).at(snapshot)
      const onNodes = counts.onNodes(pods, snapshot)
      return { domains, isHostname: true, pods: onNodes, weight: weightOf(compared.length), allowance }
    }
    const { topology, sums } = counts.inDomains(
      { pods, topologyKey, nodes: nodesOf(pod, constraint, keys) },
      snapshot,
    )
    const domains = topology.at(snapshot)
    const weight = weightOf(countDistinct(domains, compared))
    return { domains, isHostname: false, pods: sums, weight, allowance }
  })
}

/** Nodes without the label count as one domain. */
function countDistinct(domains: Int32Array, positions: readonly number[]): number {
  const seen = new Set<number>()
  for (const position of positions) seen.add(domains[position] ?? -1)
  return seen.size
}

function normalize(scores: Float64Array): void {
  let least = Infinity
  let most = 0
  for (const score of scores) {
    if (score === outside) continue
    if (score < least) least = score
    if (score > most) most = score
  }
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index]!
    if (score === outside) scores[index] = 0
    else scores[index] = most === 0 ? scoreMax : Math.trunc((scoreMax * (most + least - score)) / most)
  }
}
