import { readJson, usePolled, type Polled } from '../data/use-polled.ts'
import type { InformerState } from './informer-lag.ts'

/** `/debug/components` of the API server. */
export interface ComponentState {
  readonly workQueues: readonly WorkQueueState[]
  /** Number of pods in each part of the queue. */
  readonly schedulingQueue: Readonly<Record<string, number>>
  readonly informers: readonly InformerState[]
}

/** Totals since the start of the queue, or current values. */
export interface WorkQueueState {
  readonly name: string
  readonly depth: number
  readonly delayed: number
  readonly processing: number
  readonly longestRunningProcessorMs: number
  readonly adds: number
  readonly retries: number
  readonly done: number
  readonly queueDurationMs: number
  readonly workDurationMs: number
}

export const componentsPath = '/debug/components'

const intervalMs = 2_000

export function useComponentState(): Polled<ComponentState> {
  return usePolled({ path: componentsPath, intervalMs, read: readJson<ComponentState> })
}
