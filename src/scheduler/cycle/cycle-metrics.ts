import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { Histogram, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import { stepsMax, type Step } from '#/api/origin.ts'
import type { Clock } from '#/platform/platform.ts'
import type { FilterState, Unschedulable } from '../framework.ts'

export const pluginBuckets = exponentialBuckets(0.000_01, 1.5, 20)

export type MeasuredPoint =
  | 'PreFilter'
  | 'Filter'
  | 'PostFilter'
  | 'PreScore'
  | 'Score'
  | 'Reserve'
  | 'Unreserve'
  | 'Permit'
  | 'PreBind'
  | 'Bind'
  | 'PostBind'

export type StatusCode = 'Success' | 'Error' | 'Skip' | 'Unschedulable' | 'UnschedulableAndUnresolvable'

export interface PluginMetrics {
  readonly extensionPoints: Histogram
  readonly plugins: Histogram
  readonly evaluations: ScalarMetric
}

export function pluginMetrics(registry: MetricsRegistry): PluginMetrics {
  return {
    extensionPoints: registry.histogram({
      name: 'scheduler_framework_extension_point_duration_seconds',
      help: 'Time to run all plugins of an extension point.',
      labels: ['extension_point', 'status', 'profile'],
      buckets: exponentialBuckets(0.0001, 2, 12),
      stability: 'STABLE',
    }),
    plugins: registry.histogram({
      name: 'scheduler_plugin_execution_duration_seconds',
      help: 'Duration of a plugin at an extension point, measured in some of the scheduling cycles.',
      labels: ['plugin', 'extension_point', 'status'],
      buckets: pluginBuckets,
      stability: 'ALPHA',
    }),
    evaluations: registry.counter({
      name: 'scheduler_plugin_evaluation_total',
      help: 'Calls of plugins at PreFilter, Filter, PreScore and Score.',
      labels: ['plugin', 'extension_point', 'profile'],
      stability: 'BETA',
    }),
  }
}

export interface CycleMetricsOptions {
  readonly metrics: PluginMetrics
  readonly clock: Clock
  readonly profile: string
  readonly isSampled: boolean
  /** When the cycle began. */
  readonly startMs: number
}

/** Measures the extension points of one scheduling cycle, and its plugins if the cycle is sampled. */
export class CycleMetrics {
  readonly #options: CycleMetricsOptions
  readonly #steps: Step[] = []
  /** The extension point in progress. */
  #open: { readonly name: string; readonly startMs: number } | undefined

  constructor(options: CycleMetricsOptions) {
    this.#options = options
  }

  nowMs(): number {
    return this.#options.clock.monotonicMs()
  }

  /** Measures from `startMs` until now. */
  extensionPoint(point: MeasuredPoint, status: StatusCode, startMs: number): void {
    const endMs = this.nowMs()
    const name = stepNames[point]
    if (name !== undefined) this.#step({ name, startMs, endMs })
    this.observe(point, status, endMs - startMs)
  }

  observe(point: MeasuredPoint, status: StatusCode, durationMs: number): void {
    const { metrics, profile } = this.#options
    metrics.extensionPoints.with(point, status, profile).observe(durationMs / 1_000)
  }

  /** Begins an extension point that sends requests, which show it. */
  begin(point: MeasuredPoint, startMs: number): void {
    const name = stepNames[point]
    if (name !== undefined) this.#open = { name, startMs }
  }

  /** The step ends now. */
  step(name: string, startMs: number, detail?: string): void {
    this.#step({ name, startMs, endMs: this.nowMs(), detail })
  }

  /** The steps of the cycle so far. */
  steps(): readonly Step[] {
    if (this.#open === undefined) return [...this.#steps]
    const { name, startMs } = this.#open
    const begun = { name, startMs: startMs - this.#options.startMs, durationMs: this.nowMs() - startMs }
    return [...this.#steps, begun]
  }

  #step({ name, startMs, endMs, detail }: MeasuredStep): void {
    if (this.#open?.name === name) this.#open = undefined
    if (this.#steps.length >= stepsMax) return
    const step = { name, startMs: startMs - this.#options.startMs, durationMs: endMs - startMs }
    this.#steps.push(detail === undefined ? step : { ...step, detail })
  }

  plugin(point: MeasuredPoint, { name }: { readonly name: string }, run: Run): void {
    const { metrics, isSampled } = this.#options
    if (isSampled) metrics.plugins.with(name, point, run.status).observe(run.durationMs / 1_000)
  }

  evaluated(point: MeasuredPoint, plugin: string, count = 1): void {
    const { metrics, profile } = this.#options
    metrics.evaluations.with(plugin, point, profile).add(count)
  }

  /** The filter state, measured at each call if the cycle is sampled. */
  measured(plugin: { readonly name: string }, state: FilterState): FilterState {
    if (!this.#options.isSampled) return state
    const { addPod, removePod, preFilterResult } = state
    return {
      filter: node => {
        const startMs = this.nowMs()
        const status = state.filter(node)
        this.plugin('Filter', plugin, { status: codeOf(status), durationMs: this.nowMs() - startMs })
        return status
      },
      ...(preFilterResult && { preFilterResult }),
      ...(addPod && { addPod: (pod, node) => addPod.call(state, pod, node) }),
      ...(removePod && { removePod: (pod, node) => removePod.call(state, pod, node) }),
    }
  }
}

/** Steps of a pass; the others are parts of these, or not shown. */
const stepNames: Readonly<Partial<Record<MeasuredPoint, string>>> = {
  PreFilter: 'prefilter',
  PostFilter: 'postfilter',
  Reserve: 'reserve',
  Permit: 'permit',
  PreBind: 'prebind',
  Bind: 'bind',
}

interface MeasuredStep {
  readonly name: string
  readonly startMs: number
  readonly endMs: number
  readonly detail?: string | undefined
}

interface Run {
  readonly status: StatusCode
  readonly durationMs: number
}

export function codeOf(status: Unschedulable | undefined): StatusCode {
  if (status === undefined) return 'Success'
  return status.isUnresolvable ? 'UnschedulableAndUnresolvable' : 'Unschedulable'
}
