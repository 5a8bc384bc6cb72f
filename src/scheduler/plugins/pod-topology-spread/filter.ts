import type { FilterState, Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import type { NodeMatcher, PodCounts } from '../pod-counts.ts'
import { positionsIn } from '../pod-counts/positions.ts'
import { Tally } from '../pod-counts/tally.ts'
import { hasKeys, nodesOf, type Constraint } from './constraints.ts'

const reason = "node(s) didn't match pod topology spread constraints"
const skewStatus: Unschedulable = { reason }
const missingLabelStatus: Unschedulable = {
  reason: `${reason} (missing required label)`,
  isUnresolvable: true,
}

export interface FilterWorld {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly counts: PodCounts
  /** Not empty. */
  readonly constraints: readonly Constraint[]
}

/** Counts of one constraint. */
interface Spread {
  readonly constraint: Constraint
  readonly nodes: NodeMatcher | undefined
  /** Domain by position of the node; -1 for none. */
  readonly domains: Int32Array
  readonly tally: Tally
  readonly domainsWithNodes: DomainsWithNodes
  /** Maximum number of pods in a domain before the pod is added. */
  readonly countMax: number
}

/** The domains with counted nodes, and the minimum count before any override. */
interface DomainsWithNodes {
  readonly size: number
  /** Number of nodes by domain; domains without nodes do not count. */
  readonly nodes: Int32Array
  readonly lowest: { readonly domain: number; readonly count: number }
  /** Minimum count of the other domains. */
  readonly nextCount: number
}

export function filterStateOf({ pod, snapshot, counts, constraints }: FilterWorld): FilterState {
  const keys = keysOf(constraints)
  const spreads = constraints.map((constraint): Spread => {
    const { topologyKey, pods } = constraint
    const nodes = nodesOf(pod, constraint, keys)
    const found = counts.inDomains({ pods, topologyKey, nodes }, snapshot)
    const tally = new Tally(found.sums.slice())
    const domainsWithNodes = findLowest(tally, found.nodes.slice())
    return {
      constraint,
      nodes,
      domains: found.topology.at(snapshot),
      tally,
      domainsWithNodes,
      countMax: countMaxOf(pod, { constraint, domainsWithNodes }, tally),
    }
  })
  return stateWith({ pod, keys, positionOf: positionsIn(snapshot) }, spreads)
}

/** The label keys that a node must have to count. */
export function keysOf(constraints: readonly Constraint[]): readonly string[] {
  return [...new Set(constraints.map(({ topologyKey }) => topologyKey))].toSorted()
}

/** The constant part of a filter state. */
interface FilterContext {
  readonly pod: PodInfo
  readonly keys: readonly string[]
  readonly positionOf: (node: NodeInfo) => number
}

function stateWith(context: FilterContext, spreads: readonly Spread[]): FilterState {
  const { positionOf } = context
  const moved = (pod: PodInfo, node: NodeInfo, delta: 1 | -1): FilterState => {
    if (!hasKeys(node.labels, context.keys)) return stateWith(context, spreads)
    return stateWith(
      context,
      spreads.map(spread => movedSpread(context, spread, { pod, node, delta })),
    )
  }
  return {
    filter: node => {
      const position = positionOf(node)
      for (const { domains, tally, countMax } of spreads) {
        const domain = domains[position] ?? -1
        if (domain === -1) return missingLabelStatus
        if (tally.get(domain) > countMax) return skewStatus
      }
      return undefined
    },
    addPod: (pod, node) => moved(pod, node, 1),
    removePod: (pod, node) => moved(pod, node, -1),
  }
}

function movedSpread(
  { pod: placed, positionOf }: FilterContext,
  spread: Spread,
  { pod, node, delta }: { readonly pod: PodInfo; readonly node: NodeInfo; readonly delta: 1 | -1 },
): Spread {
  const { constraint, nodes, domains } = spread
  const domain = domains[positionOf(node)] ?? -1
  const counts = domain !== -1 && constraint.pods.matches(pod) && (nodes?.test()(node) ?? true)
  if (!counts) return spread
  const tally = spread.tally.plus(domain, delta)
  return { ...spread, tally, countMax: countMaxOf(placed, spread, tally) }
}

function countMaxOf(
  { labels }: PodInfo,
  { constraint, domainsWithNodes }: Pick<Spread, 'constraint' | 'domainsWithNodes'>,
  tally: Tally,
): number {
  const { maxSkew, minDomains, selector } = constraint
  // With fewer than minDomains domains the global minimum is 0.
  const lowest = domainsWithNodes.size < minDomains ? 0 : lowestOf(domainsWithNodes, tally)
  return maxSkew + lowest - (selector.matches(labels) ? 1 : 0)
}

/** Usually a single domain is overridden; then the two lowest counts suffice. */
function lowestOf({ nodes, lowest, nextCount }: DomainsWithNodes, tally: Tally): number {
  const { changed } = tally
  if (changed.size === 0) return lowest.count
  if (changed.size > 1) return findLowest(tally, nodes).lowest.count
  const [[domain, count] = [-1, Infinity]] = changed
  return Math.min(count, domain === lowest.domain ? nextCount : lowest.count)
}

function findLowest(tally: Tally, nodes: Int32Array): DomainsWithNodes {
  let size = 0
  let lowest = { domain: -1, count: Infinity }
  let nextCount = Infinity
  for (let domain = 0; domain < nodes.length; domain++) {
    if (nodes[domain] === 0) continue
    size++
    const count = tally.get(domain)
    if (count < lowest.count) {
      nextCount = lowest.count
      lowest = { domain, count }
    } else if (count < nextCount) nextCount = count
  }
  return { size, nodes, lowest, nextCount }
}
