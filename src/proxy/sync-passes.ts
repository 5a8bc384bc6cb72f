/** The passes of the service proxy: each sync that wrote rules, for the services that changed. */
import type { Step } from '#/api/origin.ts'
import { mergeCauses, PassCauses, type PassCause } from '#/client/pass-causes.ts'
import type { PassLog } from '#/client/pass-log.ts'
import type { Clock } from '#/platform/platform.ts'

export interface SyncPassesOptions {
  readonly clock: Clock
  readonly passes: PassLog
  readonly nodeName: string
}

/** Maximum number of passes of one sync; the last one stands for all further services. */
const passesPerSyncMax = 16

export class SyncPasses {
  readonly #options: SyncPassesOptions
  readonly #causes = new PassCauses()
  /** Services that changed and are not written yet, such as after a failure. */
  readonly #unwritten = new Map<string, PassCause>()
  #startedMs = 0
  #beganMs = 0
  #plannedMs = 0

  constructor(options: SyncPassesOptions) {
    this.#options = options
  }

  /** A service has to be planned again. */
  add(service: string, revision: number | undefined): void {
    this.#causes.add(service, this.#options.clock.now(), revision)
  }

  begin(services: readonly string[]): void {
    const { clock } = this.#options
    this.#startedMs = clock.now()
    this.#beganMs = clock.monotonicMs()
    for (const service of services) {
      const cause = this.#causes.take(service)
      if (cause !== undefined) this.#unwritten.set(service, mergeCauses(cause, this.#unwritten.get(service)))
    }
  }

  /** The rules are planned, and are written next. */
  planned(): void {
    this.#plannedMs = this.#options.clock.monotonicMs()
  }

  /** All rules are written. */
  end(): void {
    if (this.#unwritten.size === 0) return
    const { clock } = this.#options
    const planMs = this.#plannedMs - this.#beganMs
    const steps = [
      { name: 'plan', startMs: 0, durationMs: planMs },
      { name: 'write-rules', startMs: planMs, durationMs: clock.monotonicMs() - this.#plannedMs },
    ]
    const all = [...this.#unwritten]
    this.#unwritten.clear()
    const isEach = all.length <= passesPerSyncMax
    const single = isEach ? all : all.slice(0, passesPerSyncMax - 1)
    for (const [service, cause] of single) this.#record(service, cause, steps)
    const [first, ...others] = all.slice(single.length)
    if (first === undefined) return
    const merged = others.reduce((sum, [, cause]) => mergeCauses(sum, cause), first[1])
    this.#record(`${first[0]} and ${others.length} more`, merged, steps)
  }

  #record(key: string, { causes, queuedMs }: PassCause, steps: readonly Step[]): void {
    const { clock, passes, nodeName: node } = this.#options
    const startedMs = this.#startedMs
    const times = { queuedMs: Math.min(queuedMs, startedMs), startedMs, endedMs: clock.now() }
    passes.record({ component: 'kube-proxy', node, key, causes, ...times, steps })
  }
}
