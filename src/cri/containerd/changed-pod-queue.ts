/**
 * Queue of changed pods. Each pod is queued at most once, so a slow reader cannot make the queue grow beyond
 * the number of pods.
 */
export class ChangedPodQueue {
  readonly #pods = new Set<string | undefined>()
  #wake: (() => void) | undefined

  /** Undefined means that any pod may have changed. */
  add(podUid: string | undefined): void {
    // A resync of all pods covers the ones queued before.
    if (podUid === undefined) this.#pods.clear()
    if (!this.#pods.has(undefined)) this.#pods.add(podUid)
    this.#wake?.()
  }

  /** Yields queued pods until aborted. Supports one reader at a time. */
  async *take(signal: AbortSignal): AsyncGenerator<string | undefined, void, undefined> {
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        for (const podUid of this.#pods) {
          this.#pods.delete(podUid)
          yield podUid
          if (signal.aborted) return
        }
        if (this.#pods.size === 0 && !signal.aborted) await this.#change()
      }
    } finally {
      signal.removeEventListener('abort', wake)
    }
  }

  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }
}
