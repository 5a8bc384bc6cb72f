import { CriError, type ContainerRuntime } from '../cri.ts'
import type { CallTime } from './call-time.ts'

export type RuntimeMethod = Extract<keyof ContainerRuntime, string>

/** What goes wrong between a kubelet and the simulated runtime, on demand. Containers notice nothing of it. */
export class Faults {
  readonly #onBack: () => void
  readonly #delays = new Map<RuntimeMethod | 'all', number>()
  readonly #failures = new Map<RuntimeMethod, { readonly error: CriError; left: number }>()
  #isLost = false

  /** What to do when the runtime is back. */
  constructor(onBack: () => void) {
    this.#onBack = onBack
  }

  /** Every call fails as `unavailable` until the runtime is back. */
  lose(): void {
    this.#isLost = true
  }

  bringBack(): void {
    this.#isLost = false
    this.#onBack()
  }

  /** Calls take so long from now on: `Infinity` for those that are never answered, 0 as before. */
  delay(method: RuntimeMethod | 'all', ms: number): void {
    this.#delays.set(method, ms)
  }

  /** The next calls fail. */
  fail(method: RuntimeMethod, error: CriError, times = 1): void {
    this.#failures.set(method, { error, left: times })
  }

  /** Lets a call pass, or throws. */
  async pass(method: RuntimeMethod, time: CallTime): Promise<void> {
    this.#checkLost()
    await time.pass((this.#delays.get(method) ?? 0) + (this.#delays.get('all') ?? 0))
    this.#checkLost()
    const failure = this.#failures.get(method)
    if (failure === undefined || failure.left <= 0) return
    failure.left--
    throw failure.error
  }

  #checkLost(): void {
    if (this.#isLost) throw new CriError('unavailable', 'the simulated container runtime does not answer')
  }
}
