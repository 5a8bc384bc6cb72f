/**
 * Small pieces for working with abort signals: a signal that follows another, and waiting that ends with a
 * signal.
 */

/** An abort of our own that also happens when the parent's does. Dispose of it, or the parent keeps it. */
export class LinkedAbort implements Disposable {
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #follow = (): void => this.#controller.abort(this.#parent?.reason)

  constructor(parent: AbortSignal | undefined) {
    this.#parent = parent
    if (parent?.aborted) this.#follow()
    else parent?.addEventListener('abort', this.#follow, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  [Symbol.dispose](): void {
    this.#parent?.removeEventListener('abort', this.#follow)
  }
}

/**
 * What the promise gives, or the signal's reason when it is aborted first. The promise is then left alone.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(
      value => {
        signal.removeEventListener('abort', abort)
        resolve(value)
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abort)
        reject(error)
      },
    )
  })
}

/**
 * The same for everything that is iterated: an aborted signal ends the iteration, however long the source
 * takes.
 */
export async function* abortableEach<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await abortable(iterator.next(), signal)
      if (done) return
      yield value
    }
  } finally {
    // Not waited for: a source that hangs would hang its reader too.
    iterator.return?.().catch(() => undefined)
  }
}
