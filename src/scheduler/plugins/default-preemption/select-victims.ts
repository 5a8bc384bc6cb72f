import type { Eviction, Refusal } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import { besides, refusalWithNominated, without, type Filters, type TriedBy } from '../../tried-node.ts'
import type { Budgets } from './budgets.ts'
import { byImportance } from './importance.ts'

export interface EvictionWorld extends TriedBy {
  readonly filters: Filters
  readonly budgets: Budgets
  readonly nowMs: number
}

const noVictims: Refusal = { reason: 'No preemption victims found for incoming pod', isFinal: true }

/**
 * Who has to go for the pod to come to the node, and nobody else; or why that would not help. All that are less
 * important go at first, then whoever still fits may stay: those whom budgets protect before the others, the more
 * important ones before the less important.
 */
export function selectVictims(node: NodeInfo, world: EvictionWorld): Eviction | Refusal {
  const lesser = node.pods.filter(({ priority }) => priority < world.pod.priority)
  if (lesser.length === 0) return noVictims
  const { violating, fine } = world.budgets.split(lesser.toSorted(byImportance(world.nowMs)))
  return spare(node, [...violating, ...fine], world)
}

/**
 * The same with nobody whom a budget would not let go, when that is possible. Who is spared first above is not always
 * who should be, since pods take more and less room: here all sets that the budgets allow are tried, as long as
 * `tries` lasts.
 */
export function selectWithinBudgets(
  node: NodeInfo,
  world: EvictionWorld,
  tries: { left: number },
): Eviction | undefined {
  const { budgets, pod, nowMs } = world
  const lesser = node.pods.filter(({ priority }) => priority < pod.priority).toSorted(byImportance(nowMs))
  const free = lesser.filter(each => !budgets.covers(each))
  const covered = lesser.filter(each => budgets.covers(each)).toReversed()
  for (const allowed of allowedSets(covered, budgets)) {
    if (tries.left-- <= 0) return undefined
    const eviction = spare(node, [...allowed, ...free].toSorted(byImportance(nowMs)), world)
    if ('victims' in eviction) return eviction
  }
  return undefined
}

/** The sets of pods that could go together, each before those that are parts of it. */
function* allowedSets(
  pods: readonly PodInfo[],
  budgets: Budgets,
  chosen: readonly PodInfo[] = [],
): Generator<readonly PodInfo[]> {
  const [first, ...rest] = pods
  if (first === undefined) return yield chosen
  const longer = [...chosen, first]
  if (budgets.allow(longer)) yield* allowedSets(rest, budgets, longer)
  yield* allowedSets(rest, budgets, chosen)
}

/** Lets all of them go, and then one after the other stay, in their order, while the pod still fits. */
function spare(node: NodeInfo, lesser: readonly PodInfo[], world: EvictionWorld): Eviction | Refusal {
  let tried = without({ node, filters: world.filters }, lesser)
  const refusal = refusalWithNominated(tried.node, tried.filters, world)
  if (refusal !== undefined) return refusal
  const victims: PodInfo[] = []
  for (const each of lesser) {
    const fuller = besides(tried, each)
    if (refusalWithNominated(fuller.node, fuller.filters, world) === undefined) tried = fuller
    else victims.push(each)
  }
  if (victims.length === 0) return { reason: `expected at least one victim pod on node "${node.name}"` }
  victims.sort(byImportance(world.nowMs))
  // Only now is it known who goes: a budget that has enough for these was never in danger.
  return { node: node.name, victims, violations: world.budgets.split(victims).violating.length }
}
