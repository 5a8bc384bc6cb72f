import type { CrossVersionObjectReference } from '#/api/generated/autoscaling/v2.ts'
import type { Selector } from '#/api/selectors/selector.ts'

/**
 * Source of the metrics that autoscalers use. Values are in thousandths (milli). Methods throw an error if a
 * metric is unavailable; its message is used in conditions and events.
 */
export interface Metrics {
  /** Usage of `cpu` or `memory` by whole pods, or by one container of each. */
  resource(query: ResourceQuery): Promise<PodSamples>
  /** A custom metric of each pod. */
  pods(query: PodsQuery): Promise<PodSamples>
  /** A custom metric of one object. */
  object(query: ObjectQuery): Promise<bigint>
  /** An external metric: the values of all matching series. */
  external(query: ExternalQuery): Promise<readonly bigint[]>
}

/** By pod name. */
export type PodSamples = ReadonlyMap<string, Sample>

export interface Sample {
  readonly milliValue: bigint
  /** End of the window of `windowMs` that the value covers. */
  readonly atMs: number
  readonly windowMs: number
}

export interface ResourceQuery extends Query {
  readonly resource: string
  readonly container?: string | undefined
  readonly selector: Selector
}

export interface PodsQuery extends Query {
  readonly metric: string
  readonly metricSelector: Selector
  readonly selector: Selector
}

export interface ObjectQuery extends Query {
  readonly metric: string
  readonly metricSelector: Selector
  readonly object: CrossVersionObjectReference
}

export interface ExternalQuery extends Query {
  readonly metric: string
  readonly metricSelector: Selector
}

interface Query {
  readonly namespace: string
  readonly signal: AbortSignal
}
