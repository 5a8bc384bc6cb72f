import type { Clock } from '#/platform/platform.ts'
import type { AdmissionMetrics, StepSeries } from '../metrics/admission.ts'

export interface AdmissionMeasurement {
  readonly metrics: AdmissionMetrics
  readonly clock: Clock
}

export interface MeasuredStep {
  readonly series: StepSeries
  /** In the order of the plugins. */
  readonly pluginSeries: readonly StepSeries[]
}

/** Measures one phase of admission and each of its plugins; reads the clock once for each plugin. */
export class StepTimer {
  readonly #step: Partial<MeasuredStep>
  readonly #clock: Clock | undefined
  readonly #startedMs: number
  #pluginStartedMs: number
  #plugin = -1

  constructor(step: Partial<MeasuredStep>, clock: Clock | undefined) {
    this.#step = step
    this.#clock = clock
    this.#startedMs = clock?.monotonicMs() ?? 0
    this.#pluginStartedMs = this.#startedMs
  }

  begin(plugin: number): void {
    this.#plugin = plugin
  }

  end(): void {
    const series = this.#step.pluginSeries?.[this.#plugin]
    if (series === undefined || this.#clock === undefined) return
    const nowMs = this.#clock.monotonicMs()
    series.admitted.observe((nowMs - this.#pluginStartedMs) / 1_000)
    this.#pluginStartedMs = nowMs
  }

  finish(): void {
    // The last plugin ended just now.
    this.#step.series?.admitted.observe((this.#pluginStartedMs - this.#startedMs) / 1_000)
  }

  /** The current plugin has rejected the request. */
  reject(): void {
    if (this.#clock === undefined) return
    const nowMs = this.#clock.monotonicMs()
    const { series, pluginSeries } = this.#step
    pluginSeries?.[this.#plugin]?.rejected().observe((nowMs - this.#pluginStartedMs) / 1_000)
    series?.rejected().observe((nowMs - this.#startedMs) / 1_000)
  }
}
