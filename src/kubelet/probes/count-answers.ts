import type { ProbeResult } from '../plan-pod.ts'

/** How many times in a row a probe has had the same answer. */
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
  /** What the answers so far add up to; undefined as long as they are too few. */
  readonly verdict?: ProbeResult
}

/** One more answer. */
export function countAnswer(before: AnswerRun, answer: ProbeResult, thresholds: Thresholds): Counted {
  const length = before.answer === answer ? before.length + 1 : 1
  const run = { answer, length }
  return length < thresholds[answer] ? { run } : { run, verdict: answer }
}
