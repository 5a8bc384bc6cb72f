/**
 * Chooses the node of a pod: filters the nodes, then picks the one with the highest score. Works on a
 * snapshot without side effects.
 */
import type { Random } from '#/platform/platform.ts'
import type { CycleState, FilterState, Diagnosis, Unschedulable } from './framework.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { Snapshot } from './snapshot.ts'
import { filterWithNominatedPods, type Filters } from './filter-with-nominated-pods.ts'

export interface SchedulingCycle {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly profile: Profile
  /** Nominated pods by node. */
  readonly nominated: (node: string) => readonly PodInfo[]
  /** The nominated node of the pod itself. */
  readonly nominatedNode?: string | undefined
  /**
   * Index of the first node to examine: the one after the last of the previous cycle, so that all nodes get
   * examined.
   */
  readonly startAt: number
  readonly random: Random
  readonly cycleState: CycleState
}

/** The feasible nodes, and the reasons against the rest. */
export interface FilterResult extends Diagnosis {
  readonly feasible: readonly NodeInfo[]
  /** Number of nodes examined. */
  readonly evaluatedNodes: number
}

export interface ScheduleResult {
  readonly node: string
  /** By plugin: the weighted scores of the feasible nodes, in their order. */
  readonly scores: ReadonlyMap<string, Float64Array>
}

/** Result of preFilter: the filter states, or a status for all nodes. */
export interface PreFilterResult {
  readonly filters: Filters
  /** The only nodes to consider; `preFilterPlugins` names the plugins that decided it. */
  readonly preFilterResult?: ReadonlySet<string> | undefined
  readonly preFilterPlugins?: readonly string[]
  readonly status?: Unschedulable
}

/** Minimum number of feasible nodes to find; in smaller clusters all nodes are examined. */
const feasibleNodesMin = 100
const percentageMin = 5
const percentageUsual = 50
const nodesPerPercent = 125

export function filterNodes(world: SchedulingCycle, prepared = runPreFilterPlugins(world)): FilterResult {
  const { status } = prepared
  const about = aboutPass(world, prepared)
  if (status === undefined) return { ...about, ...findFeasible(world, prepared) }
  const nodeToStatus = new Map(world.snapshot.nodes.map(({ name }) => [name, status]))
  return { ...about, nodeToStatus, feasible: [], evaluatedNodes: 0, preFilterStatus: status }
}

/** The nominated node of the pod, if feasible; no other node is examined then. */
export function evaluateNominatedNode(
  world: SchedulingCycle,
  prepared: PreFilterResult,
): FilterResult | undefined {
  const { nominatedNode, snapshot } = world
  const { filters, preFilterResult, status } = prepared
  if (nominatedNode === undefined || status !== undefined || preFilterResult?.has(nominatedNode) === false)
    return undefined
  const node = snapshot.get(nominatedNode)
  if (node === undefined || filterWithNominatedPods(node, filters, world) !== undefined) return undefined
  return { ...aboutPass(world, prepared), feasible: [node], nodeToStatus: new Map(), evaluatedNodes: 0 }
}

function aboutPass(
  { snapshot, cycleState, nominated, nominatedNode }: SchedulingCycle,
  { filters, preFilterPlugins }: PreFilterResult,
): Omit<FilterResult, 'feasible' | 'nodeToStatus' | 'evaluatedNodes' | 'preFilterStatus'> {
  return {
    snapshot,
    cycleState,
    nominated,
    filters,
    ...(nominatedNode !== undefined && { nominatedNode }),
    ...(preFilterPlugins && { preFilterPlugins }),
  }
}

/** The node with the highest score; `nodes` must not be empty. */
export function prioritizeNodes(world: SchedulingCycle, nodes: readonly NodeInfo[]): ScheduleResult {
  if (nodes.length === 1) return { node: nodes[0]!.name, scores: new Map() }
  const { totals, scores } = scoreNodes(world, nodes)
  return { node: selectHost(nodes, totals, world.random), scores }
}

/** Stops at the first plugin that rejects the pod. */
export function runPreFilterPlugins({
  pod,
  snapshot,
  profile,
}: Pick<SchedulingCycle, 'pod' | 'snapshot' | 'profile'>): PreFilterResult {
  const filters: { plugin: string; state: FilterState }[] = []
  let preFilterResult: ReadonlySet<string> | undefined
  const preFilterPlugins: string[] = []
  for (const plugin of profile.filters) {
    const said = plugin.preFilter(pod, snapshot)
    if (said === undefined) continue
    if ('reason' in said) return { filters: [], status: { ...said, plugin: plugin.name } }
    if (said.preFilterResult !== undefined) {
      preFilterPlugins.push(plugin.name)
      preFilterResult =
        preFilterResult === undefined
          ? said.preFilterResult
          : preFilterResult.intersection(said.preFilterResult)
      if (preFilterResult.size === 0)
        return { filters: [], preFilterPlugins, status: noneLeft(preFilterPlugins, plugin.name) }
    }
    filters.push({ plugin: plugin.name, state: said })
  }
  return preFilterResult === undefined ? { filters } : { filters, preFilterResult, preFilterPlugins }
}

function noneLeft(preFilterPlugins: readonly string[], plugin: string): Unschedulable {
  const reason =
    preFilterPlugins.length > 1
      ? `node(s) didn't satisfy plugin(s) [${preFilterPlugins.toSorted().join(' ')}] simultaneously`
      : `node(s) didn't satisfy plugin ${plugin}`
  return { reason, plugin, isUnresolvable: true }
}

function findFeasible(
  world: SchedulingCycle,
  { filters, preFilterResult }: PreFilterResult,
): {
  readonly feasible: NodeInfo[]
  readonly nodeToStatus: Map<string, Unschedulable>
  readonly evaluatedNodes: number
} {
  const { snapshot, startAt, profile } = world
  const candidates =
    preFilterResult === undefined
      ? snapshot.nodes
      : [...preFilterResult].flatMap(name => snapshot.get(name) ?? [])
  const wanted = profile.hasNoScorers
    ? 1
    : numFeasibleNodesToFind(candidates.length, profile.percentageOfNodesToScore)
  const feasible: NodeInfo[] = []
  const nodeToStatus = new Map<string, Unschedulable>()
  let evaluatedNodes = 0
  for (; evaluatedNodes < candidates.length && feasible.length < wanted; evaluatedNodes++) {
    const node = candidates[(startAt + evaluatedNodes) % candidates.length]!
    const status = filterWithNominatedPods(node, filters, world)
    if (status === undefined) feasible.push(node)
    else nodeToStatus.set(node.name, status)
  }
  return { feasible, nodeToStatus, evaluatedNodes }
}

export function numFeasibleNodesToFind(nodes: number, percentage: number): number {
  if (nodes < feasibleNodesMin || percentage >= 100) return nodes
  const adapted = Math.max(percentageMin, percentageUsual - Math.floor(nodes / nodesPerPercent))
  const wanted = Math.floor((nodes * (percentage === 0 ? adapted : percentage)) / 100)
  return Math.max(feasibleNodesMin, wanted)
}

function scoreNodes(
  { pod, snapshot, profile }: SchedulingCycle,
  nodes: readonly NodeInfo[],
): { readonly totals: Float64Array; readonly scores: ReadonlyMap<string, Float64Array> } {
  const totals = new Float64Array(nodes.length)
  const all = new Map<string, Float64Array>()
  for (const { plugin, weight } of profile.scorers) {
    const state = plugin.score(pod, snapshot, nodes)
    if (state === undefined) continue
    const scores = new Float64Array(nodes.length)
    for (let index = 0; index < nodes.length; index++) scores[index] = state.score(nodes[index]!)
    state.normalizeScore?.(scores)
    for (let index = 0; index < nodes.length; index++) {
      scores[index]! *= weight
      totals[index]! += scores[index]!
    }
    all.set(plugin.name, scores)
  }
  return { totals, scores: all }
}

/** A random one of the nodes with the highest score. */
export function selectHost(nodes: readonly NodeInfo[], totals: Float64Array, random: Random): string {
  const best = totals.reduce((most, total) => (total > most ? total : most), -Infinity)
  const ties = totals.reduce((count, total) => (total === best ? count + 1 : count), 0)
  let left = ties === 1 ? 0 : random.integer('tie between nodes', ties)
  for (let index = 0; index < nodes.length; index++) {
    if (totals[index] === best && left-- === 0) return nodes[index]!.name
  }
  return nodes[0]!.name
}
