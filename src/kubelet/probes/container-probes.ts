import type { Container } from '#/api/generated/core/v1.ts'
import type { ProbeSeries, ProbeType } from '../kubelet-metrics.ts'
import type { ProbeResults } from '../plan-pod.ts'
import type { RunningContainer } from '../probes.ts'
import { ProbeWorker } from './probe-worker.ts'
import type { ProbeDependencies } from './run-probe.ts'

export interface ContainerProbesOptions {
  readonly dependencies: ProbeDependencies
  readonly container: Container
  readonly series: (type: ProbeType) => ProbeSeries
  readonly running: RunningContainer
  /** Start time of this process. */
  readonly beganMs: number
  readonly onChange: () => void
  /** Called at the first success of a probe. */
  readonly onSuccess: (type: ProbeType) => void
  readonly onEvent: (reason: string, message: string) => void
}

/** The probes of one container over its lifetime. Until the startup probe succeeds, the others do not run. */
export class ContainerProbes {
  readonly #options: ContainerProbesOptions
  readonly #startup: ProbeWorker | undefined
  readonly #liveness: ProbeWorker | undefined
  readonly #readiness: ProbeWorker | undefined
  #hasStarted: boolean

  constructor(options: ContainerProbesOptions) {
    const { container, running } = options
    this.#options = options
    this.#hasStarted = container.startupProbe === undefined || running.hasStarted === true
    this.#startup = this.#hasStarted ? undefined : this.#loop('Startup', container.startupProbe)
    this.#liveness = this.#loop('Liveness', container.livenessProbe)
    this.#readiness = this.#loop('Readiness', container.readinessProbe)
  }

  get results(): ProbeResults {
    const startup = this.#hasStarted ? 'success' : this.#startup?.result
    return {
      ...(startup !== undefined && this.#options.container.startupProbe && { startup }),
      ...(this.#liveness?.result !== undefined && { liveness: this.#liveness.result }),
      ...(this.#readiness?.result !== undefined && { readiness: this.#readiness.result }),
    }
  }

  start(): void {
    if (this.#hasStarted) this.#startOthers()
    else this.#startup?.start()
  }

  stopAllButReadiness(): void {
    this.#startup?.stop('success')
    this.#liveness?.stop('success')
  }

  stop(): void {
    for (const loop of [this.#startup, this.#liveness, this.#readiness]) loop?.stop()
  }

  #startOthers(): void {
    this.#readiness?.start()
    this.#liveness?.start()
  }

  #loop(type: ProbeType, probe: Container['startupProbe']): ProbeWorker | undefined {
    if (probe === undefined) return undefined
    let hasSucceeded = false
    return new ProbeWorker({
      ...this.#options,
      type,
      series: this.#options.series(type),
      probe,
      onChange: result => {
        if (result === 'success' && !hasSucceeded) {
          hasSucceeded = true
          this.#options.onSuccess(type)
        }
        if (type === 'Startup' && result === 'success') {
          this.#hasStarted = true
          this.#startOthers()
        }
        this.#options.onChange()
      },
    })
  }
}
