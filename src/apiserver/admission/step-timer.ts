import type { Clock } from '#/platform/platform.ts'
import type { AdmissionMetrics, AdmissionStep, StepSeries } from '../metrics/admission.ts'
import type { RequestOrigin } from '../request-origin.ts'
import type { AdmissionPlugin } from './admission-chain.ts'

export interface AdmissionMeasurement {
  readonly metrics: AdmissionMetrics
  readonly clock: Clock
}

/** The plugins of a phase, and the series for their durations if metrics are recorded. */
export interface MeasuredStep {
  readonly type: AdmissionStep
  readonly plugins: readonly AdmissionPlugin[]
  readonly series?: StepSeries
  /** In the order of the plugins. */
  readonly pluginSeries?: readonly StepSeries[]
}

/** Measures one phase of admission and each of its plugins; reads the clock once for each plugin. */
export class StepTimer {
  readonly #step: MeasuredStep
  readonly #clock: Clock | undefined
  readonly #origin: RequestOrigin | undefined
  readonly #startedMs: number
  #pluginStartedMs: number
  #plugin = -1

  constructor(step: MeasuredStep, clock: Clock | undefined, origin: RequestOrigin | undefined) {
    this.#step = step
    this.#clock = clock ?? origin?.clock
    this.#origin = origin
    this.#startedMs = this.#clock?.monotonicMs() ?? 0
    this.#pluginStartedMs = this.#startedMs
    origin?.addStepUntil(stepsBefore[step.type], this.#startedMs)
  }

  begin(plugin: number): void {
    this.#plugin = plugin
  }

  end(): void {
    if (this.#clock === undefined) return
    const startedMs = this.#pluginStartedMs
    const nowMs = this.#clock.monotonicMs()
    const { plugins, pluginSeries } = this.#step
    pluginSeries?.[this.#plugin]?.admitted.observe((nowMs - startedMs) / 1_000)
    if (this.#origin && nowMs - startedMs >= slowPluginMs)
      this.#origin.addStep({
        name: 'admission',
        startedMs,
        endedMs: nowMs,
        detail: plugins[this.#plugin]?.name,
      })
    this.#pluginStartedMs = nowMs
  }

  finish(): void {
    // The last plugin ended just now.
    const endedMs = this.#pluginStartedMs
    this.#step.series?.admitted.observe((endedMs - this.#startedMs) / 1_000)
    this.#origin?.addStep({ name: phaseNames[this.#step.type], startedMs: this.#startedMs, endedMs })
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

/** Faster plugins are not steps of their own in the origin of a write. */
const slowPluginMs = 0.1

/** The body is read, decoded and defaulted before the mutating phase, and validated after it. */
const stepsBefore = { admit: 'decode', validate: 'validation' } as const

const phaseNames = { admit: 'mutating-admission', validate: 'validating-admission' } as const
