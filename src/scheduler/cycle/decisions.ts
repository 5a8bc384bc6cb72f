import type { ScheduleResult, FilterResult } from '../schedule-pod.ts'
import type { PodInfo } from '../pod-info.ts'

/** The result of a scheduling attempt, for diagnosis. */
export interface PodDecision {
  readonly pod: string
  readonly uid: string
  readonly time: string
  /** The chosen node; absent if the pod was unschedulable. */
  readonly node?: string
  readonly message: string
  /** Number of nodes in the cluster, and of those examined. */
  readonly nodes: number
  readonly evaluatedNodes: number
  /** By name of the node. */
  readonly rejected: readonly {
    readonly node: string
    readonly plugin: string
    readonly reasons: readonly string[]
  }[]
  /** The feasible nodes with their weighted scores by plugin and the total, best first. */
  readonly scored: readonly {
    readonly node: string
    readonly total: number
    readonly scores: Readonly<Record<string, number>>
  }[]
}

/** A decision without its nodes. */
export interface DecisionSummary extends Pick<
  PodDecision,
  'pod' | 'uid' | 'time' | 'node' | 'message' | 'nodes' | 'evaluatedNodes'
> {
  /** Number of nodes that passed all filters. */
  readonly feasibleNodes: number
}

/** Maximum number of cached decisions, and of feasible nodes in all of them; the oldest are evicted. */
const decisionsMax = 1_000
const feasibleMax = 50_000

/** Maximum number of nodes in the description of a decision. */
const nodesMax = 5_000

interface Kept {
  readonly uid: string
  /** Only the count: a reference to the snapshot would keep all its nodes in memory. */
  readonly nodes: number
  readonly filtered: Pick<FilterResult, 'feasible' | 'evaluatedNodes' | 'nodeToStatus'>
  readonly chosen: ScheduleResult | undefined
  readonly message: string
  readonly atMs: number
}

interface ScheduledDecision {
  readonly filtered: FilterResult
  readonly chosen: ScheduleResult
  readonly atMs: number
}

interface FailedDecision {
  readonly filtered: FilterResult
  readonly message: string
  readonly atMs: number
}

/** Caches the raw results; they are formatted on request. */
export class Decisions {
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()
  #feasible = 0

  scheduled(pod: PodInfo, { filtered, chosen, atMs }: ScheduledDecision): void {
    const message = `Successfully assigned ${pod.key} to ${chosen.node}`
    this.#keep(pod.key, { ...light(pod, filtered), chosen, message, atMs })
  }

  failed(pod: PodInfo, { filtered, message, atMs }: FailedDecision): void {
    this.#keep(pod.key, { ...light(pod, filtered), chosen: undefined, message, atMs })
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#feasible -= kept.filtered.feasible.length
    this.#kept.delete(key)
  }

  #keep(key: string, decision: Kept): void {
    this.delete(key)
    this.#kept.set(key, decision)
    this.#feasible += decision.filtered.feasible.length
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= decisionsMax && (this.#feasible <= feasibleMax || oldest === key)) return
      this.delete(oldest)
    }
  }

  /** The latest first. */
  latest(max: number): readonly DecisionSummary[] {
    return [...this.#kept]
      .slice(-max)
      .toReversed()
      .map(([pod, kept]) => ({ pod, ...common(kept), feasibleNodes: kept.filtered.feasible.length }))
  }

  get(key: string): PodDecision | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    const { filtered, chosen } = kept
    return {
      pod: key,
      ...common(kept),
      rejected: [...filtered.nodeToStatus]
        .slice(0, nodesMax)
        .map(([node, { plugin = '', reason, more = [] }]) => {
          return { node, plugin, reasons: [reason, ...more] }
        })
        .toSorted((left, right) => (left.node < right.node ? -1 : 1)),
      scored: scoresOf(filtered, chosen),
    }
  }
}

function common({ uid, nodes, filtered, chosen, message, atMs }: Kept) {
  return {
    uid,
    time: new Date(atMs).toISOString(),
    ...(chosen && { node: chosen.node }),
    message,
    nodes,
    evaluatedNodes: filtered.evaluatedNodes,
  }
}

/** Without the state of plugins, to save memory. */
function light({ uid }: PodInfo, filtered: FilterResult): Pick<Kept, 'uid' | 'nodes' | 'filtered'> {
  const { feasible, evaluatedNodes, nodeToStatus, snapshot } = filtered
  return { uid, nodes: snapshot.nodes.length, filtered: { feasible, evaluatedNodes, nodeToStatus } }
}

function scoresOf({ feasible }: Kept['filtered'], chosen: ScheduleResult | undefined): PodDecision['scored'] {
  return feasible
    .slice(0, nodesMax)
    .map(({ name }, index) => {
      const scores = Object.fromEntries(
        [...(chosen?.scores ?? [])].map(([plugin, each]) => [plugin, each[index] ?? 0]),
      )
      return { node: name, scores, total: Object.values(scores).reduce((sum, score) => sum + score, 0) }
    })
    .toSorted((left, right) => right.total - left.total)
}
