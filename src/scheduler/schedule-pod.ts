/**
 * Chooses the node of a pod: filters the nodes, then picks the one with the highest score. Works on a
 * snapshot without side effects.
 */
import type { Random } from '#/platform/platform.ts'
import type { CycleState, FilterState, Diagnosis, Unschedulable } from './framework.ts'
import type { CycleMetrics } from './metrics.ts'
import { codeOf } from './cycle/cycle-metrics.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { Snapshot } from './snapshot.ts'
import { filterWithNominatedPods, runFilters, type Filters } from './filter-with-nominated-pods.ts'

export interface SchedulingCycle {
  readonly pod: PodInfo
  readonly snapshot: Snapshot
  readonly profile: Profile
  /** Nominated pods by node. */
  readonly nominated: (node: string) => readonly PodInfo[]
  /** False if no pod is nominated to any node; nominated pods are then not looked up for each node. */
  readonly hasNominatedPods?: boolean
  /** The nominated node of the pod itself. */
  readonly nominatedNode?: string | undefined
  /**
   * Index of the first node to examine: the one after the last of the previous cycle, so that all nodes get
   * examined.
   */
  readonly startAt: number
  readonly random: Random
  readonly cycleState: CycleState
  readonly metrics?: CycleMetrics | undefined
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
  if (status === undefined) return { ...about, ...measuredFindFeasible(world, prepared) }
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

type PreFilterWorld = Pick<SchedulingCycle, 'pod' | 'snapshot' | 'profile' | 'metrics'>

/** Stops at the first plugin that rejects the pod. */
export function runPreFilterPlugins(world: PreFilterWorld): PreFilterResult {
  const { metrics } = world
  const startMs = metrics?.nowMs() ?? 0
  const result = preFilter(world)
  metrics?.extensionPoint('PreFilter', codeOf(result.status), startMs)
  return result
}

function preFilter({ pod, snapshot, profile, metrics }: PreFilterWorld): PreFilterResult {
  const filters: { plugin: string; state: FilterState }[] = []
  let preFilterResult: ReadonlySet<string> | undefined
  const preFilterPlugins: string[] = []
  for (const plugin of profile.filters) {
    const startMs = metrics?.nowMs() ?? 0
    const said = plugin.preFilter(pod, snapshot)
    const status = said === undefined ? 'Skip' : 'reason' in said ? codeOf(said) : 'Success'
    metrics?.plugin('PreFilter', plugin, { status, durationMs: metrics.nowMs() - startMs })
    metrics?.evaluated('PreFilter', plugin.name)
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
    filters.push({ plugin: plugin.name, state: metrics?.measured(plugin, said) ?? said })
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

interface FeasibleNodes {
  readonly feasible: NodeInfo[]
  readonly nodeToStatus: Map<string, Unschedulable>
  readonly evaluatedNodes: number
}

function measuredFindFeasible(world: SchedulingCycle, prepared: PreFilterResult): FeasibleNodes {
  const { metrics } = world
  if (metrics === undefined) return findFeasible(world, prepared)
  const startMs = metrics.nowMs()
  const found = findFeasible(world, prepared)
  metrics.extensionPoint('Filter', 'Success', startMs)
  metrics.step('filter', startMs, `${found.feasible.length}/${world.snapshot.nodes.length} nodes`)
  countEvaluations(metrics, prepared.filters, found)
  return found
}

/** A filter is called on the nodes that no filter before it has rejected. */
function countEvaluations(
  metrics: CycleMetrics,
  filters: Filters,
  { nodeToStatus, evaluatedNodes }: FeasibleNodes,
): void {
  const rejections = new Map<string, number>()
  for (const { plugin = '' } of nodeToStatus.values())
    rejections.set(plugin, (rejections.get(plugin) ?? 0) + 1)
  let left = evaluatedNodes
  for (const { plugin } of filters) {
    metrics.evaluated('Filter', plugin, left)
    left -= rejections.get(plugin) ?? 0
  }
}

function findFeasible(world: SchedulingCycle, { filters, preFilterResult }: PreFilterResult): FeasibleNodes {
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
    const status =
      world.hasNominatedPods === false
        ? runFilters(node, filters)
        : filterWithNominatedPods(node, filters, world)
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
  { pod, snapshot, profile, metrics }: SchedulingCycle,
  nodes: readonly NodeInfo[],
): { readonly totals: Float64Array; readonly scores: ReadonlyMap<string, Float64Array> } {
  const totals = new Float64Array(nodes.length)
  const all = new Map<string, Float64Array>()
  const startMs = metrics?.nowMs() ?? 0
  let preScoreMs = 0
  for (const { plugin, weight } of profile.scorers) {
    const preScoredMs = metrics?.nowMs() ?? 0
    const state = plugin.score(pod, snapshot, nodes)
    const scoredMs = metrics?.nowMs() ?? 0
    preScoreMs += scoredMs - preScoredMs
    const status = state === undefined ? 'Skip' : 'Success'
    metrics?.plugin('PreScore', plugin, { status, durationMs: scoredMs - preScoredMs })
    metrics?.evaluated('PreScore', plugin.name)
    if (state === undefined) continue
    const scores = new Float64Array(nodes.length)
    for (let index = 0; index < nodes.length; index++) scores[index] = state.score(nodes[index]!)
    metrics?.plugin('Score', plugin, { status, durationMs: metrics.nowMs() - scoredMs })
    metrics?.evaluated('Score', plugin.name, nodes.length)
    state.normalizeScore?.(scores)
    for (let index = 0; index < nodes.length; index++) {
      scores[index]! *= weight
      totals[index]! += scores[index]!
    }
    all.set(plugin.name, scores)
  }
  metrics?.step('score', startMs)
  metrics?.observe('PreScore', 'Success', preScoreMs)
  metrics?.observe('Score', 'Success', metrics.nowMs() - startMs - preScoreMs)
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
