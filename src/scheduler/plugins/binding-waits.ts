import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { Informer } from '#/client/informer.ts'
import type { Clock } from '#/platform/platform.ts'
import type { PodInfo } from '../pod-info.ts'

export interface WaitOptions {
  /** Informers that the condition depends on; it is evaluated on each of their events. */
  readonly informers: readonly Pick<Informer<KubernetesObject>, 'waitUntil'>[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Binding cycles that wait for other components, such as the volume controller or a device driver. */
export class BindingWaits {
  readonly #clock: Clock
  /** By pod uid. */
  readonly #waiting = new Map<string, LinkedAbort>()

  constructor(clock: Clock, pods: Informer<Pod>) {
    this.#clock = clock
    pods.addEventHandler((_key, { oldObject, newObject }) => {
      if (newObject !== undefined) return
      this.#waiting.get(oldObject.metadata.uid)?.abort(new Error('pod does not exist any more'))
    })
  }

  /**
   * Resolves when the condition holds. Rejects if the condition throws, on timeout, if the pod is deleted, or
   * when aborted.
   */
  async until({ uid }: PodInfo, condition: () => boolean, options: WaitOptions): Promise<void> {
    const { informers, timeoutMs, signal } = options
    using ending = new LinkedAbort(signal)
    const timer = this.#clock.setTimer(timeoutMs, () => ending.abort(new Error('context deadline exceeded')))
    this.#waiting.set(uid, ending)
    try {
      await Promise.race(informers.map(informer => informer.waitUntil(condition, ending.signal)))
    } finally {
      timer.cancel()
      this.#waiting.delete(uid)
      ending.abort(new Error('wait ended'))
    }
  }
}
