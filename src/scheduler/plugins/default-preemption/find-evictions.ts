import type { Clock } from '#/platform/platform.ts'
import type { Eviction, Refusal } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import { selectVictims, selectWithinBudgets, type EvictionWorld } from './select-victims.ts'

export interface EvictionSearch extends EvictionWorld {
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

export interface Evictions {
  /** The candidates, those without PodDisruptionBudget violations first. */
  readonly found: readonly Eviction[]
  /** Reason why there is no candidate, by node name. */
  readonly refusals: ReadonlyMap<string, Refusal>
}

/** Milliseconds after which the search yields to the event loop. */
const turnMs = 5

/** Maximum number of victim sets tried in total to avoid PodDisruptionBudget violations. */
const triesMax = 2_000

/** Tests for each node if the pod would fit without the pods of lower priority. */
export async function findEvictions(search: EvictionSearch): Promise<Evictions> {
  const { nodes, startAt, wanted, clock } = search
  const refusals = new Map<string, Refusal>()
  const fine: Eviction[] = []
  const violating: Eviction[] = []
  const turns = turnsOf(clock)
  for (let looked = 0; looked < nodes.length; looked++) {
    const node = nodes[(startAt + looked) % nodes.length]!
    const selected = selectVictims(node, search)
    if ('reason' in selected) refusals.set(node.name, selected)
    else if (selected.violations === 0) fine.push(selected)
    else if (violating.length < wanted) violating.push(selected)
    if (fine.length > 0 && fine.length + violating.length >= wanted) break
    await turns.takeIfDue()
  }
  if (fine.length === 0) fine.push(...(await keepBudgets(search, violating)))
  return { found: [...fine, ...violating], refusals }
}

/** Searches other victims on the nodes where PodDisruptionBudgets would be violated. */
async function keepBudgets(search: EvictionSearch, violating: readonly Eviction[]): Promise<Eviction[]> {
  const byName = new Map(search.nodes.map(node => [node.name, node]))
  const tries = { left: triesMax }
  const turns = turnsOf(search.clock)
  const found: Eviction[] = []
  for (const { node } of violating) {
    if (tries.left <= 0) break
    const eviction = selectWithinBudgets(byName.get(node)!, search, tries)
    if (eviction !== undefined) found.push(eviction)
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
