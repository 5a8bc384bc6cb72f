import { CriError, type ContainerRuntime } from '../cri.ts'
import type { CallDeadline } from './call-deadline.ts'

export type RuntimeMethod = Extract<keyof ContainerRuntime, string>

interface Failure {
  readonly error: CriError
  /** Number of calls that will fail. */
  left: number
}

/** Fault injection between the kubelet and the simulated runtime. Containers are not affected. */
export class FaultInjection {
  readonly #onBack: () => void
  readonly #delays = new Map<RuntimeMethod | 'all', number>()
  readonly #failures = new Map<RuntimeMethod, Failure>()
  readonly #lostAnswers = new Map<RuntimeMethod, Failure>()
  /** By sandbox id; resolved when the shim is killed. */
  readonly #hungShims = new Map<string, PromiseWithResolvers<void>>()
  #isLost = false
  #areEventsLost = false
  /** Calls in progress on the connection; each is failed when it breaks. */
  #inProgress = new Set<(error: CriError) => void>()

  /** `onBack` is called when the runtime becomes available again: any pod may have changed in the meantime. */
  constructor(onBack: () => void) {
    this.#onBack = onBack
  }

  /** False while events are lost. */
  get hasEvents(): boolean {
    return !this.#isLost && !this.#areEventsLost
  }

  /**
   * All calls fail with `unavailable` until `reconnect`, and no event is sent. Calls in progress fail, too; the
   * runtime completes them, or not.
   */
  disconnect(): void {
    this.#isLost = true
    const broken = this.#inProgress
    this.#inProgress = new Set()
    for (const fail of broken) fail(unavailable())
  }

  reconnect(): void {
    this.#isLost = false
    this.#onBack()
  }

  /** Events are lost until `reconnectEvents`, while calls succeed. */
  disconnectEvents(): void {
    this.#areEventsLost = true
  }

  reconnectEvents(): void {
    this.#areEventsLost = false
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

  /** The next calls succeed in the runtime, but the caller gets the error instead of the answer. */
  loseAnswers(method: RuntimeMethod, error: CriError, times = 1): void {
    this.#lostAnswers.set(method, { error, left: times })
  }

  /**
   * Calls that need the shim of the sandbox are not answered until the shim is killed. Lists and statuses are answered:
   * they are the runtime's own.
   */
  hangShim(sandboxId: string): void {
    this.#hungShims.set(sandboxId, Promise.withResolvers())
  }

  killShim(sandboxId: string): void {
    this.#hungShims.get(sandboxId)?.resolve()
    this.#hungShims.delete(sandboxId)
  }

  /** Resolves if the shim of the sandbox answers. Throws when it is killed meanwhile. */
  async reachShim(sandboxId: string, time: CallDeadline): Promise<void> {
    const hung = this.#hungShims.get(sandboxId)
    if (hung === undefined) return
    await time.until(hung.promise)
    throw new CriError('failed', 'ttrpc: closed')
  }

  /** Removes delays and pending failures. */
  clear(): void {
    this.#delays.clear()
    this.#failures.clear()
    this.#lostAnswers.clear()
  }

  /** Performs a call with the faults. */
  async perform<T>(method: RuntimeMethod, time: CallDeadline, work: () => T | Promise<T>): Promise<T> {
    if (this.#isLost) throw unavailable()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const connection = this.#inProgress.add(reject)
    const attempt = async (): Promise<T> => {
      await time.sleep((this.#delays.get(method) ?? 0) + (this.#delays.get('all') ?? 0))
      // The request does not reach the runtime if the connection broke in the meantime.
      if (connection !== this.#inProgress) throw unavailable()
      throwNext(this.#failures.get(method))
      const answer = await work()
      throwNext(this.#lostAnswers.get(method))
      return answer
    }
    attempt().then(resolve, reject)
    try {
      return await promise
    } finally {
      connection.delete(reject)
    }
  }
}

function throwNext(failure: Failure | undefined): void {
  if (failure === undefined || failure.left <= 0) return
  failure.left--
  throw failure.error
}

function unavailable(): CriError {
  return new CriError('unavailable', 'simulated container runtime is unavailable')
}
