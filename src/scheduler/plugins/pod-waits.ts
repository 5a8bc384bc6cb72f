import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { LinkedAbort } from '#/client/abort.ts'
import type { Informer } from '#/client/informer.ts'
import type { Clock } from '#/platform/platform.ts'
import type { PodInfo } from '../pod-info.ts'

export interface WaitOptions {
  /** What the condition is about: it is looked at when one of them has something new. */
  readonly informers: readonly Pick<Informer<KubernetesObject>, 'until'>[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Pods that have a node and are not bound yet, since others have to do something first. */
export class PodWaits {
  readonly #clock: Clock
  /** By uid. */
  readonly #waiting = new Map<string, LinkedAbort>()

  constructor(clock: Clock, pods: Informer<Pod>) {
    this.#clock = clock
    pods.onChange((_key, { before, after }) => {
      if (after !== undefined) return
      this.#waiting.get(before.metadata?.uid ?? '')?.abort(new Error('pod does not exist any more'))
    })
  }

  /**
   * Resolves when the condition holds. Rejects with what it throws, when the time is over, when the pod is deleted, or
   * when aborted.
   */
  async until({ uid }: PodInfo, condition: () => boolean, options: WaitOptions): Promise<void> {
    const { informers, timeoutMs, signal } = options
    using ending = new LinkedAbort(signal)
    const timer = this.#clock.setTimer(timeoutMs, () => ending.abort(new Error('context deadline exceeded')))
    this.#waiting.set(uid, ending)
    try {
      await Promise.race(informers.map(informer => informer.until(condition, ending.signal)))
    } finally {
      timer.cancel()
      this.#waiting.delete(uid)
      ending.abort(new Error('nobody waits any more'))
    }
  }
}
