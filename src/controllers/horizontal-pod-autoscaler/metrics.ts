import type { CrossVersionObjectReference } from '#/api/generated/autoscaling/v2.ts'
import type { Selector } from '#/api/selector.ts'

/**
 * Where the numbers come from by which autoscalers decide. Values are in thousandths, as the API of metrics
 * counts. What cannot be told is thrown, as an error whose message goes into conditions and events.
 */
export interface Metrics {
  /** What pods use of `cpu` or `memory`: each as a whole, or one container of each. */
  resource(query: ResourceQuery): Promise<PodSamples>
  /** What somebody counts for each pod. */
  pods(query: PodsQuery): Promise<PodSamples>
  /** What somebody counts for one object. */
  object(query: ObjectQuery): Promise<bigint>
  /** What somebody counts outside of the cluster: all the series that there are under a name. */
  external(query: ExternalQuery): Promise<readonly bigint[]>
}

/** By the names of pods. */
export type PodSamples = ReadonlyMap<string, Sample>

export interface Sample {
  readonly milliValue: bigint
  /** The value is about the time of `windowMs` before this. */
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
