/** A scheduling decision as `/debug/scheduling/NAMESPACE/POD` has it. */
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
  readonly rejected: readonly Rejection[]
  /** The feasible nodes, the best first. Scores are weighted. */
  readonly scored: readonly {
    readonly node: string
    readonly total: number
    readonly scores: Readonly<Record<string, number>>
  }[]
}

interface Rejection {
  readonly node: string
  /** The filter that rejected the node; those after it did not run for this node. */
  readonly plugin: string
  readonly reasons: readonly string[]
}

export interface DecisionRow {
  readonly node: string
  readonly isChosen: boolean
  readonly rejection: Rejection | undefined
  readonly total: number
  readonly scores: Readonly<Record<string, number>>
}

/** All examined nodes: the chosen one, the other feasible ones by score, then the rejected ones. */
export function decisionRows({ node, rejected, scored }: PodDecision): DecisionRow[] {
  const feasible = scored.map(each => ({ ...each, isChosen: each.node === node, rejection: undefined }))
  const chosen = feasible.filter(({ isChosen }) => isChosen)
  const others = feasible.filter(({ isChosen }) => !isChosen)
  const refused = rejected.map(rejection => {
    return { node: rejection.node, isChosen: false, rejection, total: 0, scores: {} }
  })
  return [...chosen, ...others, ...refused]
}

/** The highest weighted score of each plugin; its scores are shown as shares of it. */
export function highestScores({ scored }: PodDecision): ReadonlyMap<string, number> {
  const highest = new Map<string, number>()
  for (const { scores } of scored) {
    for (const [plugin, score] of Object.entries(scores)) {
      highest.set(plugin, Math.max(highest.get(plugin) ?? 0, score))
    }
  }
  return highest
}

export interface RejectionCount {
  readonly plugin: string
  readonly reason: string
  readonly nodes: number
}

/** How many nodes each filter rejected and why, the most frequent first. */
export function countRejections({ rejected }: PodDecision): RejectionCount[] {
  const counts = new Map<string, RejectionCount>()
  for (const { plugin, reasons } of rejected) {
    for (const reason of reasons) {
      const key = JSON.stringify([plugin, reason])
      counts.set(key, { plugin, reason, nodes: (counts.get(key)?.nodes ?? 0) + 1 })
    }
  }
  return [...counts.values()].sort(
    (left, right) => right.nodes - left.nodes || (left.reason < right.reason ? -1 : 1),
  )
}

/** The filters that rejected a node, that with most nodes first. */
export function rejectingFilters({ rejected }: PodDecision): string[] {
  const counts = new Map<string, number>()
  for (const { plugin } of rejected) counts.set(plugin, (counts.get(plugin) ?? 0) + 1)
  return [...counts].sort(([, left], [, right]) => right - left).map(([plugin]) => plugin)
}
