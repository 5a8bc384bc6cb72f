/**
 * Helpers for abort signals: a signal linked to a parent, and promises and iterations that end with a signal.
 */

/**
 * An abort controller that also aborts when its parent signal does. Must be disposed, otherwise the parent
 * keeps a listener.
 */
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
 * Settles like the promise, or rejects with the signal's reason when the signal is aborted first. The promise
 * itself is not canceled.
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
 * As `abortable`, for async iterables: an aborted signal ends the iteration even while the source is pending.
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
    // Not awaited: a source that hangs would block its consumer.
    iterator.return?.().catch(() => undefined)
  }
}
