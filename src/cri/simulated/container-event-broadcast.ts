/** Maximum number of pending pods per reader; beyond it they collapse into a full resync (undefined). */
const pendingMax = 10_000

/** Broadcasts pod changes. Writers never wait, and pending changes of a pod are merged. */
export class ContainerEventBroadcast {
  readonly #readers = new Set<Reader>()

  publish(podUid: string | undefined): void {
    for (const reader of this.#readers) reader.publish(podUid)
  }

  async *follow(signal: AbortSignal): AsyncGenerator<string | undefined, void> {
    const reader = new Reader()
    const stop = (): void => reader.stop()
    this.#readers.add(reader)
    signal.addEventListener('abort', stop, { once: true })
    try {
      while (!signal.aborted) {
        for (const podUid of reader.take()) yield podUid
        if (!signal.aborted) await reader.more()
      }
    } finally {
      this.#readers.delete(reader)
      signal.removeEventListener('abort', stop)
    }
  }
}

class Reader {
  #pending = new Set<string | undefined>([undefined])
  #wake: (() => void) | undefined
  #isStopped = false

  publish(podUid: string | undefined): void {
    if (this.#pending.has(undefined)) return
    if (podUid === undefined || this.#pending.size >= pendingMax) this.#pending = new Set([undefined])
    else this.#pending.add(podUid)
    this.#wake?.()
  }

  take(): Iterable<string | undefined> {
    const taken = this.#pending
    this.#pending = new Set()
    return taken
  }

  async more(): Promise<void> {
    if (this.#pending.size > 0 || this.#isStopped) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await promise
    this.#wake = undefined
  }

  stop(): void {
    this.#isStopped = true
    this.#wake?.()
  }
}
