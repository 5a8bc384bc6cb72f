import type { ProbeResult } from '../plan-pod.ts'

/** Number of consecutive equal probe results. */
export interface AnswerRun {
  readonly answer?: ProbeResult
  readonly length: number
}

export interface Thresholds {
  readonly success: number
  readonly failure: number
}

export interface Counted {
  readonly run: AnswerRun
  /** Undefined until a threshold is reached. */
  readonly verdict?: ProbeResult
}

/** Adds a probe result. */
export function countAnswer(before: AnswerRun, answer: ProbeResult, thresholds: Thresholds): Counted {
  const length = before.answer === answer ? before.length + 1 : 1
  const run = { answer, length }
  return length < thresholds[answer] ? { run } : { run, verdict: answer }
}
