/**
 * Pods that have changed and that nobody has looked at yet. A pod is in it once, however often it changed, so that a
 * slow reader makes nothing pile up: there are never more entries than pods.
 */
export class PendingChanges {
  readonly #pods = new Set<string | undefined>()
  #wake: (() => void) | undefined

  /** Undefined when any pod may have changed. */
  add(podUid: string | undefined): void {
    // Whoever looks at all pods looks at those that were named before, too.
    if (podUid === undefined) this.#pods.clear()
    if (!this.#pods.has(undefined)) this.#pods.add(podUid)
    this.#wake?.()
  }

  /** One after the other as they come, until aborted. One reader at a time. */
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
