import type { Clock } from '#/platform/platform.ts'
import type { Eviction, Refusal } from '../../framework.ts'
import type { NodeInfo } from '../../node-info.ts'
import { selectVictims, selectWithinBudgets, type EvictionWorld } from './select-victims.ts'

export interface EvictionSearch extends EvictionWorld {
  /** Those where it may help that others go. */
  readonly nodes: readonly NodeInfo[]
  /** At which of them to begin. */
  readonly startAt: number
  /** How many ways out are enough; without one that keeps the budgets, all nodes are looked at. */
  readonly wanted: number
  readonly clock: Clock
}

export interface Evictions {
  /** The ways out, those that keep the budgets first. */
  readonly found: readonly Eviction[]
  /** Why there is none on a node, by its name. */
  readonly refusals: ReadonlyMap<string, Refusal>
}

/** After so long of looking at nodes others get a turn: milliseconds. */
const turnMs = 5

/** How often in all it is tried to keep the budgets after all. */
const triesMax = 2_000

/** Tries out, node by node, whether the pod would fit if less important ones went. */
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

/** Where budgets would be broken, another choice of victims may keep them. */
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
