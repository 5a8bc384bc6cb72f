/** Last known state of the container runtime. */
import type {
  ContainerRuntime,
  RuntimeCondition,
  RuntimeHandler,
  RuntimeStatus,
  RuntimeVersion,
} from '#/cri/cri.ts'
import type { Clock } from '#/platform/platform.ts'

/** A runtime that does not answer keeps its last state for this long. */
const downMs = 30_000

type AskedRuntime = Pick<ContainerRuntime, 'status' | 'version'>

export class RuntimeState {
  readonly #runtime: AskedRuntime
  readonly #clock: Clock
  #status: RuntimeStatus | undefined
  #version: RuntimeVersion | undefined
  #answeredMs = -Infinity

  constructor(runtime: AskedRuntime, clock: Clock) {
    this.#runtime = runtime
    this.#clock = clock
  }

  get version(): RuntimeVersion | undefined {
    return this.#version
  }

  get handlers(): readonly RuntimeHandler[] {
    return this.#status?.handlers ?? []
  }

  async update(signal: AbortSignal): Promise<void> {
    try {
      const status = await this.#runtime.status(signal)
      this.#version = await this.#runtime.version(signal)
      this.#status = status
      this.#answeredMs = this.#clock.monotonicMs()
    } catch (error) {
      if (signal.aborted) throw error
    }
  }

  /** Reasons why it cannot run pods; empty if it can. */
  problems(): readonly string[] {
    if (this.#status === undefined) return ['container runtime status check may not have completed yet']
    const { runtime, network } = this.#status
    const isDown = this.#clock.monotonicMs() - this.#answeredMs >= downMs
    return [
      ...(isDown ? ['container runtime is down'] : []),
      ...(runtime.isReady ? [] : [`container runtime not ready: ${conditionText('RuntimeReady', runtime)}`]),
      ...(network.isReady
        ? []
        : [`container runtime network not ready: ${conditionText('NetworkReady', network)}`]),
    ]
  }
}

function conditionText(type: string, { isReady, reason, message }: RuntimeCondition): string {
  return `${type}=${isReady} reason:${reason} message:${message}`
}
