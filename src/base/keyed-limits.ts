/** Bounds concurrent uses of something, for each key and in total. */
export interface KeyedLimitsOptions {
  readonly perKey: number
  readonly total: number
}

export class KeyedLimits {
  readonly #options: KeyedLimitsOptions
  readonly #byKey = new Map<string, number>()
  #count = 0

  constructor(options: KeyedLimitsOptions) {
    this.#options = options
  }

  /** Undefined if there are too many. Disposing more than once does nothing. */
  enter(key: string): Disposable | undefined {
    const { perKey, total } = this.#options
    const ofKey = this.#byKey.get(key) ?? 0
    if (ofKey >= perKey || this.#count >= total) return undefined
    this.#byKey.set(key, ofKey + 1)
    this.#count++
    let isIn = true
    return {
      [Symbol.dispose]: () => {
        if (isIn) this.#leave(key)
        isIn = false
      },
    }
  }

  #leave(key: string): void {
    const left = this.#byKey.get(key)! - 1
    if (left === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, left)
    this.#count--
  }
}
