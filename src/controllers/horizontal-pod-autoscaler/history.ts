/**
 * What was recommended and done for one autoscaler, since this process began. Times are of the monotonic
 * clock.
 */
export interface ScaleHistory {
  /** How many replicas metrics asked for, before anything limited it. */
  readonly recommendations: readonly Recommendation[]
  /** By how many replicas the target was scaled. */
  readonly changes: readonly ScaleChange[]
}

export interface Recommendation {
  readonly replicas: number
  readonly atMs: number
}

export interface ScaleChange {
  /** Negative when it was scaled down. */
  readonly replicas: number
  readonly atMs: number
}

/** The longest period that a policy can have. */
const changesKeptMs = 1_800_000

/**
 * As if the present size had just been recommended, so that nothing shrinks before it has been watched for
 * a while.
 */
export function newHistory(currentReplicas: number, nowMs: number): ScaleHistory {
  return { recommendations: [{ replicas: currentReplicas, atMs: nowMs }], changes: [] }
}

export function withChange(history: ScaleHistory, change: ScaleChange): ScaleHistory {
  const kept = history.changes.filter(({ atMs }) => atMs > change.atMs - changesKeptMs)
  return { ...history, changes: [...kept, change] }
}
