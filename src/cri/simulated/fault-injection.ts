import { CriError, type ContainerRuntime } from '../cri.ts'
import type { CallDeadline } from './call-deadline.ts'

export type RuntimeMethod = Extract<keyof ContainerRuntime, string>

/** Fault injection between the kubelet and the simulated runtime. Containers are not affected. */
export class FaultInjection {
  readonly #onBack: () => void
  readonly #delays = new Map<RuntimeMethod | 'all', number>()
  readonly #failures = new Map<RuntimeMethod, { readonly error: CriError; left: number }>()
  #isLost = false

  /** `onBack` is called when the runtime becomes available again. */
  constructor(onBack: () => void) {
    this.#onBack = onBack
  }

  /** All calls fail with `unavailable` until `reconnect`. */
  disconnect(): void {
    this.#isLost = true
  }

  reconnect(): void {
    this.#isLost = false
    this.#onBack()
  }

  /** Delays calls from now on: `Infinity` never answers, 0 removes the delay. */
  delay(method: RuntimeMethod | 'all', ms: number): void {
    this.#delays.set(method, ms)
  }

  /** Makes the next calls fail. */
  fail(method: RuntimeMethod, error: CriError, times = 1): void {
    this.#failures.set(method, { error, left: times })
  }

  /** Applies faults to a call: waits or throws. */
  async apply(method: RuntimeMethod, time: CallDeadline): Promise<void> {
    this.#checkLost()
    await time.sleep((this.#delays.get(method) ?? 0) + (this.#delays.get('all') ?? 0))
    this.#checkLost()
    const failure = this.#failures.get(method)
    if (failure === undefined || failure.left <= 0) return
    failure.left--
    throw failure.error
  }

  #checkLost(): void {
    if (this.#isLost) throw new CriError('unavailable', 'simulated container runtime is unavailable')
  }
}
