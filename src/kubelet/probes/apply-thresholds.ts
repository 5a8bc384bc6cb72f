import type { ProbeResult } from '../plan-pod.ts'

/** Number of consecutive equal probe results. */
export interface ResultRun {
  readonly result?: ProbeResult
  readonly length: number
}

export interface Thresholds {
  readonly success: number
  readonly failure: number
}

export interface ThresholdState {
  readonly run: ResultRun
  /** Undefined until a threshold is reached. */
  readonly verdict?: ProbeResult
}

/** Adds a probe result. */
export function applyThresholds(
  before: ResultRun,
  result: ProbeResult,
  thresholds: Thresholds,
): ThresholdState {
  const length = before.result === result ? before.length + 1 : 1
  const run: ResultRun = { result, length }
  return length < thresholds[result] ? { run } : { run, verdict: result }
}
