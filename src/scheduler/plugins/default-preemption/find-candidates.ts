import type { Clock } from '#/platform/platform.ts'
import type { PreemptionCandidate, Unschedulable } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import { startMs } from './importance.ts'
import { selectVictimsOnNode, selectWithinBudgets, type VictimSearch } from './select-victims.ts'

export interface CandidateSearch extends VictimSearch {
  /** The nodes where preemption may help. */
  readonly nodes: readonly NodeInfo[]
  /** Index of the first node to examine. */
  readonly startAt: number
  /**
   * Number of candidates to find; without one that respects the PodDisruptionBudgets, all nodes are examined.
   */
  readonly wanted: number
  readonly clock: Clock
}

export interface Candidates {
  /** The candidates, those without PodDisruptionBudget violations first. */
  readonly found: readonly PreemptionCandidate[]
  /** Reason why there is no candidate, by node name. */
  readonly nodeToStatus: ReadonlyMap<string, Unschedulable>
}

/** Milliseconds after which the search yields to the event loop. */
const turnMs = 5

/** Maximum number of victim sets tried in total to avoid PodDisruptionBudget violations. */
const triesMax = 2_000

/** Tests for each node if the pod would fit without the pods of lower priority. */
export async function findCandidates(search: CandidateSearch): Promise<Candidates> {
  const { nodes, startAt, wanted, clock } = search
  const nodeToStatus = new Map<string, Unschedulable>()
  const fine: PreemptionCandidate[] = []
  const violating: PreemptionCandidate[] = []
  const turns = turnsOf(clock)
  for (let looked = 0; looked < nodes.length; looked++) {
    const node = nodes[(startAt + looked) % nodes.length]!
    const selected = selectVictimsOnNode(node, search)
    if ('reason' in selected) nodeToStatus.set(node.name, selected)
    else if (selected.pdbViolations === 0) fine.push(selected)
    else if (violating.length < wanted) violating.push(selected)
    if (fine.length > 0 && fine.length + violating.length >= wanted) break
    await turns.takeIfDue()
  }
  if (fine.length === 0) fine.push(...(await keepBudgets(search, violating)))
  return { found: [...fine, ...violating], nodeToStatus }
}

/** Searches other victims on the nodes where PodDisruptionBudgets would be violated. */
async function keepBudgets(
  search: CandidateSearch,
  violating: readonly PreemptionCandidate[],
): Promise<PreemptionCandidate[]> {
  const byName = new Map(search.nodes.map(node => [node.name, node]))
  const tries = { left: triesMax }
  const turns = turnsOf(search.clock)
  const found: PreemptionCandidate[] = []
  for (const { node } of violating) {
    if (tries.left <= 0) break
    const candidate = selectWithinBudgets(byName.get(node)!, search, tries)
    if (candidate !== undefined) found.push(candidate)
    await turns.takeIfDue()
  }
  return found
}

function turnsOf(clock: Clock): { readonly takeIfDue: () => Promise<void> | undefined } {
  let turnedMs = clock.monotonicMs()
  const take = async (): Promise<void> => {
    await clock.turn()
    turnedMs = clock.monotonicMs()
  }
  return { takeIfDue: () => (clock.monotonicMs() - turnedMs < turnMs ? undefined : take()) }
}

type Criterion = (candidate: PreemptionCandidate, nowMs: number) => number

/**
 * Criteria in order; the lowest value wins, and the first candidate if all are equal. The victims of each
 * candidate are sorted by priority, highest first.
 */
const criteria: readonly Criterion[] = [
  ({ pdbViolations }) => pdbViolations,
  ({ victims }) => victims[0]?.priority ?? 0,
  // Shifted to be non-negative, so that more victims of negative priority are not cheaper than fewer.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
  // Prefers victims that started late: compares the earliest start among those of the highest priority.
  ({ victims }, nowMs) => {
    const highest = victims[0]?.priority
    return -Math.min(
      ...victims.filter(({ priority }) => priority === highest).map(pod => startMs(pod, nowMs)),
    )
  },
]

export function selectCandidate(
  candidates: readonly PreemptionCandidate[],
  nowMs: number,
): PreemptionCandidate | undefined {
  let left = candidates
  for (const criterion of criteria) {
    if (left.length < 2) break
    const rated = left.map(candidate => ({ candidate, value: criterion(candidate, nowMs) }))
    const lowest = rated.reduce((least, { value }) => Math.min(least, value), Infinity)
    left = rated.filter(({ value }) => value === lowest).map(({ candidate }) => candidate)
  }
  return left[0]
}
