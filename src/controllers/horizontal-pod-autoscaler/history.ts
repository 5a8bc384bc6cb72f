/**
 * Recommendations and changes for one HorizontalPodAutoscaler since the process started. Times are monotonic.
 */
export interface ScaleHistory {
  /** Replicas proposed by the metrics, before limits. */
  readonly recommendations: readonly Recommendation[]
  /** Changes of the target's size. */
  readonly changes: readonly ScaleChange[]
}

export interface Recommendation {
  readonly replicas: number
  readonly atMs: number
}

export interface ScaleChange {
  /** Negative when scaled down. */
  readonly replicas: number
  readonly atMs: number
}

/** Maximum `periodSeconds` of a policy. */
const changesKeptMs = 1_800_000

/**
 * Starts with the current size as a recommendation, so that nothing is scaled down before the stabilization
 * window has passed.
 */
export function initialScaleHistory(currentReplicas: number, nowMs: number): ScaleHistory {
  return { recommendations: [{ replicas: currentReplicas, atMs: nowMs }], changes: [] }
}

export function withChange(history: ScaleHistory, change: ScaleChange): ScaleHistory {
  const kept = history.changes.filter(({ atMs }) => atMs > change.atMs - changesKeptMs)
  return { ...history, changes: [...kept, change] }
}
