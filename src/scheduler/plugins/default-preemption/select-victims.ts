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
 * The minimal victims on a node, or the reason why preemption does not help. Removes all pods of lower
 * priority, then reprieves as many as fit: first those with PodDisruptionBudget violations, and those of
 * higher priority first.
 */
export function selectVictims(node: NodeInfo, world: EvictionWorld): Eviction | Refusal {
  const lesser = node.pods.filter(({ priority }) => priority < world.pod.priority)
  if (lesser.length === 0) return noVictims
  const { violating, fine } = world.budgets.split(lesser.toSorted(byImportance(world.nowMs)))
  return spare(node, [...violating, ...fine], world)
}

/**
 * Like `selectVictims`, but without any PodDisruptionBudget violation, if possible. The greedy reprieve order
 * is not always optimal, since pods differ in size: here all sets that the budgets allow are tried, up to
 * `tries`.
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

/** The sets of pods that can be disrupted together, supersets before their subsets. */
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

/** Removes all of them, then reprieves each in order if the pod still fits. */
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
  // Violations are counted for the final victims only.
  return { node: node.name, victims, violations: world.budgets.split(victims).violating.length }
}
