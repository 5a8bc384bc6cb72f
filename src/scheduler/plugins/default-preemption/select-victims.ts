import type { PreemptionCandidate, Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import {
  addPod,
  filterWithNominatedPods,
  removePods,
  type Filters,
  type NominatedPods,
} from '../../filter-with-nominated-pods.ts'
import type { DisruptionBudgets } from './budgets.ts'
import { moreImportantPod } from './importance.ts'

export interface VictimSearch extends NominatedPods {
  readonly filters: Filters
  readonly budgets: DisruptionBudgets
  readonly nowMs: number
}

const noVictims: Unschedulable = {
  reason: 'No preemption victims found for incoming pod',
  isUnresolvable: true,
}

/**
 * The minimal victims on a node, or the reason why preemption does not help. Removes all pods of lower
 * priority, then reprieves as many as fit: first those with PodDisruptionBudget violations, and those of
 * higher priority first.
 */
export function selectVictimsOnNode(
  node: NodeInfo,
  world: VictimSearch,
): PreemptionCandidate | Unschedulable {
  const lesser = node.pods.filter(({ priority }) => priority < world.pod.priority)
  if (lesser.length === 0) return noVictims
  const { violating, fine } = world.budgets.splitByPdbViolation(
    lesser.toSorted(moreImportantPod(world.nowMs)),
  )
  return reprieve(node, [...violating, ...fine], world)
}

/**
 * Like `selectVictimsOnNode`, but without any PodDisruptionBudget violation, if possible. The greedy reprieve order
 * is not always optimal, since pods differ in size: here all sets that the budgets allow are tried, up to
 * `tries`.
 */
export function selectWithinBudgets(
  node: NodeInfo,
  world: VictimSearch,
  tries: { left: number },
): PreemptionCandidate | undefined {
  const { budgets, pod, nowMs } = world
  const lesser = node.pods.filter(({ priority }) => priority < pod.priority).toSorted(moreImportantPod(nowMs))
  const free = lesser.filter(each => !budgets.covers(each))
  const covered = lesser.filter(each => budgets.covers(each)).toReversed()
  for (const allowed of allowedSets(covered, budgets)) {
    if (tries.left-- <= 0) return undefined
    const candidate = reprieve(node, [...allowed, ...free].toSorted(moreImportantPod(nowMs)), world)
    if ('victims' in candidate) return candidate
  }
  return undefined
}

/** The sets of pods that can be disrupted together, supersets before their subsets. */
function* allowedSets(
  pods: readonly PodInfo[],
  budgets: DisruptionBudgets,
  chosen: readonly PodInfo[] = [],
): Generator<readonly PodInfo[]> {
  const [first, ...rest] = pods
  if (first === undefined) return yield chosen
  const longer = [...chosen, first]
  if (budgets.allow(longer)) yield* allowedSets(rest, budgets, longer)
  yield* allowedSets(rest, budgets, chosen)
}

/** Removes all of them, then reprieves each in order if the pod still fits. */
function reprieve(
  node: NodeInfo,
  lesser: readonly PodInfo[],
  world: VictimSearch,
): PreemptionCandidate | Unschedulable {
  let tried = removePods({ node, filters: world.filters }, lesser)
  const status = filterWithNominatedPods(tried.node, tried.filters, world)
  if (status !== undefined) return status
  const victims: PodInfo[] = []
  for (const each of lesser) {
    const fuller = addPod(tried, each)
    if (filterWithNominatedPods(fuller.node, fuller.filters, world) === undefined) tried = fuller
    else victims.push(each)
  }
  if (victims.length === 0) return { reason: `expected at least one victim pod on node "${node.name}"` }
  victims.sort(moreImportantPod(world.nowMs))
  // Violations are counted for the final victims only.
  return {
    node: node.name,
    victims,
    pdbViolations: world.budgets.splitByPdbViolation(victims).violating.length,
  }
}
