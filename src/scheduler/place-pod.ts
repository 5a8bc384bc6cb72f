/**
 * Chooses the node of a pod: filters the nodes, then picks the one with the highest score. Works on a
 * snapshot without side effects.
 */
import type { Random } from '#/platform/platform.ts'
import type { CycleId, FilterCycle, FilterFailure, Refusal } from './framework.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'
import type { Profile } from './profile.ts'
import type { Snapshot } from './snapshot.ts'
import { refusalWithNominated, type Filters } from './tried-node.ts'

export interface PlaceWorld {
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
  readonly cycle: CycleId
}

/** The feasible nodes, and the reasons against the rest. */
export interface Filtered extends FilterFailure {
  readonly feasible: readonly NodeInfo[]
  /** Number of nodes examined. */
  readonly looked: number
}

export interface Chosen {
  readonly node: string
  /** By plugin: the weighted scores of the feasible nodes, in their order. */
  readonly scores: ReadonlyMap<string, Float64Array>
}

/** Result of preFilter: the filter cycles, or a refusal for all nodes. */
export interface Prepared {
  readonly filters: Filters
  /** The only nodes to consider; `narrowedBy` names the plugins that decided it. */
  readonly only?: ReadonlySet<string> | undefined
  readonly narrowedBy?: readonly string[]
  readonly refusal?: Refusal
}

/** Minimum number of feasible nodes to find; in smaller clusters all nodes are examined. */
const feasibleNodesMin = 100
const percentageMin = 5
const percentageUsual = 50
const nodesPerPercent = 125

export function filterNodes(world: PlaceWorld, prepared = prepareFilters(world)): Filtered {
  const { refusal } = prepared
  const about = aboutPass(world, prepared)
  if (refusal === undefined) return { ...about, ...findFeasible(world, prepared) }
  const refusals = new Map(world.snapshot.nodes.map(({ name }) => [name, refusal]))
  return { ...about, refusals, feasible: [], looked: 0, everywhere: refusal }
}

/** The nominated node of the pod, if feasible; no other node is examined then. */
export function filterNominated(world: PlaceWorld, prepared: Prepared): Filtered | undefined {
  const { nominatedNode, snapshot } = world
  const { filters, only, refusal } = prepared
  if (nominatedNode === undefined || refusal !== undefined || only?.has(nominatedNode) === false)
    return undefined
  const node = snapshot.get(nominatedNode)
  if (node === undefined || refusalWithNominated(node, filters, world) !== undefined) return undefined
  return { ...aboutPass(world, prepared), feasible: [node], refusals: new Map(), looked: 0 }
}

function aboutPass(
  { snapshot, cycle, nominated, nominatedNode }: PlaceWorld,
  { filters, narrowedBy }: Prepared,
): Omit<Filtered, 'feasible' | 'refusals' | 'looked' | 'everywhere'> {
  return {
    snapshot,
    cycle,
    nominated,
    filters,
    ...(nominatedNode !== undefined && { nominatedNode }),
    ...(narrowedBy && { narrowedBy }),
  }
}

/** The node with the highest score; `nodes` must not be empty. */
export function chooseNode(world: PlaceWorld, nodes: readonly NodeInfo[]): Chosen {
  if (nodes.length === 1) return { node: nodes[0]!.name, scores: new Map() }
  const { totals, scores } = scoreNodes(world, nodes)
  return { node: pickBest(nodes, totals, world.random), scores }
}

/** Runs preFilter; stops at the first refusal. */
export function prepareFilters({
  pod,
  snapshot,
  profile,
}: Pick<PlaceWorld, 'pod' | 'snapshot' | 'profile'>): Prepared {
  const filters: { plugin: string; cycle: FilterCycle }[] = []
  let only: ReadonlySet<string> | undefined
  const narrowedBy: string[] = []
  for (const plugin of profile.filters) {
    const said = plugin.filter(pod, snapshot)
    if (said === undefined) continue
    if ('reason' in said) return { filters: [], refusal: { ...said, plugin: plugin.name } }
    if (said.only !== undefined) {
      narrowedBy.push(plugin.name)
      only = only === undefined ? said.only : only.intersection(said.only)
      if (only.size === 0) return { filters: [], narrowedBy, refusal: noneLeft(narrowedBy, plugin.name) }
    }
    filters.push({ plugin: plugin.name, cycle: said })
  }
  return only === undefined ? { filters } : { filters, only, narrowedBy }
}

function noneLeft(narrowedBy: readonly string[], plugin: string): Refusal {
  const reason =
    narrowedBy.length > 1
      ? `node(s) didn't satisfy plugin(s) [${narrowedBy.toSorted().join(' ')}] simultaneously`
      : `node(s) didn't satisfy plugin ${plugin}`
  return { reason, plugin, isFinal: true }
}

function findFeasible(
  world: PlaceWorld,
  { filters, only }: Prepared,
): { readonly feasible: NodeInfo[]; readonly refusals: Map<string, Refusal>; readonly looked: number } {
  const { snapshot, startAt, profile } = world
  const candidates = only === undefined ? snapshot.nodes : [...only].flatMap(name => snapshot.get(name) ?? [])
  const wanted = profile.isFirstGoodEnough
    ? 1
    : feasibleWanted(candidates.length, profile.percentageOfNodesToScore)
  const feasible: NodeInfo[] = []
  const refusals = new Map<string, Refusal>()
  let looked = 0
  for (; looked < candidates.length && feasible.length < wanted; looked++) {
    const node = candidates[(startAt + looked) % candidates.length]!
    const refusal = refusalWithNominated(node, filters, world)
    if (refusal === undefined) feasible.push(node)
    else refusals.set(node.name, refusal)
  }
  return { feasible, refusals, looked }
}

export function feasibleWanted(nodes: number, percentage: number): number {
  if (nodes < feasibleNodesMin || percentage >= 100) return nodes
  const adapted = Math.max(percentageMin, percentageUsual - Math.floor(nodes / nodesPerPercent))
  const wanted = Math.floor((nodes * (percentage === 0 ? adapted : percentage)) / 100)
  return Math.max(feasibleNodesMin, wanted)
}

function scoreNodes(
  { pod, snapshot, profile }: PlaceWorld,
  nodes: readonly NodeInfo[],
): { readonly totals: Float64Array; readonly scores: ReadonlyMap<string, Float64Array> } {
  const totals = new Float64Array(nodes.length)
  const all = new Map<string, Float64Array>()
  for (const { plugin, weight } of profile.scorers) {
    const cycle = plugin.score(pod, snapshot, nodes)
    if (cycle === undefined) continue
    const scores = new Float64Array(nodes.length)
    for (let index = 0; index < nodes.length; index++) scores[index] = cycle.score(nodes[index]!)
    cycle.normalize?.(scores)
    for (let index = 0; index < nodes.length; index++) {
      scores[index]! *= weight
      totals[index]! += scores[index]!
    }
    all.set(plugin.name, scores)
  }
  return { totals, scores: all }
}

/** A random one of the nodes with the highest score. */
export function pickBest(nodes: readonly NodeInfo[], totals: Float64Array, random: Random): string {
  const best = totals.reduce((most, total) => (total > most ? total : most), -Infinity)
  const ties = totals.reduce((count, total) => (total === best ? count + 1 : count), 0)
  let left = ties === 1 ? 0 : random.integer('tie between nodes', ties)
  for (let index = 0; index < nodes.length; index++) {
    if (totals[index] === best && left-- === 0) return nodes[index]!.name
  }
  return nodes[0]!.name
}
