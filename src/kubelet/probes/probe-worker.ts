import { messageOf } from '#/base/message-of.ts'
import type { Container, Probe } from '#/api/generated/core/v1.ts'
import type { Timer } from '#/platform/platform.ts'
import type { ProbeSeries, ProbeType } from '../kubelet-metrics.ts'
import type { ProbeResult } from '../plan-pod.ts'
import type { RunningContainer } from '../probes.ts'
import { InterruptedResponseError } from './http-probe.ts'
import { runProbe, type ProbeDependencies } from './run-probe.ts'

export interface ProbeWorkerOptions {
  readonly dependencies: ProbeDependencies
  readonly type: ProbeType
  readonly series: ProbeSeries
  readonly probe: Probe
  readonly container: Container
  readonly running: RunningContainer
  readonly beganMs: number
  readonly onChange: (result: ProbeResult) => void
  readonly onEvent: (reason: string, message: string) => void
}

/** Total attempts of a probe that cannot be executed; retries are immediate. */
const triesMax = 3

/** Runs a probe periodically until its result is final or it is stopped. */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions
  readonly #abort = new AbortController()
  readonly #periodMs: number
  #run: ResultRun = { length: 0 }
  #result: ProbeResult | undefined
  #timer: Timer | undefined
  #nextMs = 0

  constructor(options: ProbeWorkerOptions) {
    this.#options = options
    this.#periodMs = (options.probe.periodSeconds ?? 10) * 1_000
  }

  get result(): ProbeResult | undefined {
    return this.#result
  }

  start(): void {
    const { dependencies, probe, running, beganMs } = this.#options
    const { clock, random } = dependencies.platform
    const delayMs = running.startedMs + (probe.initialDelaySeconds ?? 0) * 1_000 - clock.now()
    // After a kubelet restart, first probes are spread over the period, so that they do not all run at once.
    const isAdopted = running.startedMs < beganMs
    const spreadMs = isAdopted ? random.fraction('start of a probe') * this.#periodMs : 0
    this.#wait(clock.monotonicMs() + Math.max(0, delayMs, spreadMs))
  }

  /** `result` overrides the last result. */
  stop(result?: ProbeResult): void {
    if (this.#abort.signal.aborted) return
    this.#abort.abort()
    this.#timer?.cancel()
    this.#options.series[Symbol.dispose]()
    this.#result = result ?? this.#result
  }

  #wait(atMs: number): void {
    const { clock } = this.#options.dependencies.platform
    this.#nextMs = Math.max(atMs, clock.monotonicMs())
    this.#timer = clock.setTimer(this.#nextMs - clock.monotonicMs(), () => void this.#probe())
  }

  async #probe(): Promise<void> {
    const answer = await this.#runProbe()
    if (this.#abort.signal.aborted) return
    const isFinal = answer !== undefined && this.#count(answer)
    if (!isFinal && !this.#abort.signal.aborted) this.#wait(this.#nextMs + this.#periodMs)
  }

  /**
   * Returns true if the result is final: the container has started, failed its startup probe, or will be
   * restarted.
   */
  #count(answer: ProbeResult): boolean {
    const { type, probe, onChange } = this.#options
    const { successThreshold: success = 1, failureThreshold: failure = 3 } = probe
    const { run, verdict } = applyThresholds(this.#run, answer, { success, failure })
    this.#run = run
    if (verdict === undefined) return false
    const isNew = verdict !== this.#result
    this.#result = verdict
    if (isNew) onChange(verdict)
    return type === 'Startup' || (type === 'Liveness' && verdict === 'failure')
  }

  /** Undefined if the probe could not be executed. */
  async #runProbe(): Promise<ProbeResult | undefined> {
    const { type, dependencies, probe, container, running, onEvent, series } = this.#options
    const { clock } = dependencies.platform
    const { signal } = this.#abort
    const beganMs = clock.monotonicMs()
    for (let tries = 1; ; tries++) {
      try {
        const { type: outcome, output } = await runProbe(dependencies, { probe, container, running, signal })
        if (signal.aborted) return undefined
        series.observe(outcome === 'failure' ? 'failed' : 'successful', clock.monotonicMs() - beganMs)
        if (outcome === 'failure') onEvent('Unhealthy', `${type} probe failed: ${output}`)
        if (outcome === 'warning') onEvent('ProbeWarning', `${type} probe warning: ${output}`)
        return outcome === 'failure' ? 'failure' : 'success'
      } catch (error) {
        if (signal.aborted) return undefined
        if (tries < triesMax) continue
        const { message, state } = describe(error)
        onEvent('Unhealthy', `${type} probe errored and resulted in ${state} state: ${message}`)
        return undefined
      }
    }
  }
}

function describe(error: unknown): { readonly message: string; readonly state: string } {
  const message = messageOf(error)
  return {
    message,
    state: error instanceof InterruptedResponseError ? 'failure' : 'unknown',
  }
}

/** Number of consecutive equal probe results. */
interface ResultRun {
  readonly result?: ProbeResult
  readonly length: number
}

interface Thresholds {
  readonly success: number
  readonly failure: number
}

interface ThresholdState {
  readonly run: ResultRun
  /** Undefined until a threshold is reached. */
  readonly verdict?: ProbeResult
}

/** Adds a probe result. */
function applyThresholds(before: ResultRun, result: ProbeResult, thresholds: Thresholds): ThresholdState {
  const length = before.result === result ? before.length + 1 : 1
  const run: ResultRun = { result, length }
  return length < thresholds[result] ? { run } : { run, verdict: result }
}
