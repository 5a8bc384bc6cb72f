import type { Platform } from '#/platform/platform.ts'
import type { KubeletMetrics } from '../kubelet-metrics.ts'

/** Measures the start of a new node. A node that is registered already is not measured. */
export class NodeStartupLatency {
  readonly #platform: Pick<Platform, 'clock' | 'files'>
  readonly #metrics: KubeletMetrics['nodeStartup']
  readonly #startedMs: number
  #attemptedMs: number | undefined
  #registeredMs: number | undefined
  #isReady = false

  constructor(platform: Pick<Platform, 'clock' | 'files'>, metrics: KubeletMetrics['nodeStartup']) {
    this.#platform = platform
    this.#metrics = metrics
    this.#startedMs = platform.clock.monotonicMs()
  }

  beginRegistration(): void {
    this.#attemptedMs ??= this.#platform.clock.monotonicMs()
  }

  async registered(): Promise<void> {
    if (this.#attemptedMs === undefined || this.#registeredMs !== undefined) return
    this.#registeredMs = this.#platform.clock.monotonicMs()
    const { preKubelet, preRegistration, registration } = this.#metrics
    preRegistration.with().value = (this.#attemptedMs - this.#startedMs) / 1_000
    registration.with().value = (this.#registeredMs - this.#attemptedMs) / 1_000
    const upSeconds = await this.#upSeconds()
    const sinceStartSeconds = (this.#platform.clock.monotonicMs() - this.#startedMs) / 1_000
    if (upSeconds !== undefined) preKubelet.with().value = upSeconds - sinceStartSeconds
  }

  ready(): void {
    if (this.#registeredMs === undefined || this.#isReady) return
    this.#isReady = true
    const { postRegistration, total } = this.#metrics
    postRegistration.with().value = (this.#platform.clock.monotonicMs() - this.#registeredMs) / 1_000
    void this.#upSeconds().then(upSeconds => {
      if (upSeconds !== undefined) total.with().value = upSeconds
    })
  }

  /** Undefined if the kernel does not tell. */
  async #upSeconds(): Promise<number | undefined> {
    const bytes = await this.#platform.files.read('/proc/uptime').catch(() => new Uint8Array())
    const [, seconds] = /^([0-9.]+) /.exec(Buffer.from(bytes).toString()) ?? []
    return seconds === undefined ? undefined : Number(seconds)
  }
}
