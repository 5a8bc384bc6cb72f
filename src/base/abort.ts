/**
 * Helpers for abort signals: a signal linked to a parent, and promises and iterations that end with a signal.
 */

/** By signal: the callbacks of `onAbort`, and the only listener of the signal itself. */
const callbacks = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls the function once when the signal is aborted; not if it is already. The signal of a component has a callback
 * for each of its requests, and an EventTarget goes through all listeners whenever one is added or removed.
 */
export function onAbort(signal: AbortSignal, callback: () => void): void {
  const known = callbacks.get(signal)
  if (known !== undefined) return void known.add(callback)
  const made = new Set([callback])
  callbacks.set(signal, made)
  const callAll = (): void => {
    for (const each of made) each()
    made.clear()
  }
  signal.addEventListener('abort', callAll, { once: true })
}

/** Removes a callback of `onAbort`. */
export function offAbort(signal: AbortSignal, callback: () => void): void {
  callbacks.get(signal)?.delete(callback)
}

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
    else if (parent) onAbort(parent, this.#follow)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  [Symbol.dispose](): void {
    if (this.#parent) offAbort(this.#parent, this.#follow)
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
    else onAbort(signal, abort)
    promise.then(
      value => {
        offAbort(signal, abort)
        resolve(value)
      },
      (error: unknown) => {
        offAbort(signal, abort)
        reject(error)
      },
    )
  })
}

/** Resolves when the signal is aborted, or at once if it is already. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else onAbort(signal, resolve)
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
