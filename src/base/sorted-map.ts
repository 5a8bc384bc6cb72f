/**
 * A map from strings to values, sorted by key, with neighbor lookup and rank. Keys are kept in runs of a few
 * hundred, so that an insertion moves little memory and a lookup among a million keys takes two binary
 * searches.
 */
export class SortedMap<Value> {
  /** Sorted, non-empty runs; every key of a run is less than every key of the next. */
  readonly #runs: Run<Value>[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): Value | undefined {
    const run = this.#runs[this.#runIndex(key)]
    if (run === undefined) return undefined
    const index = lowerBound(run.keys, key)
    return run.keys[index] === key ? run.values[index] : undefined
  }

  set(key: string, value: Value): void {
    if (this.#runs.length === 0) this.#runs.push({ keys: [], values: [] })
    const runIndex = Math.min(this.#runIndex(key), this.#runs.length - 1)
    const run = this.#runs[runIndex]!
    const index = lowerBound(run.keys, key)
    if (run.keys[index] === key) {
      run.values[index] = value
      return
    }
    run.keys.splice(index, 0, key)
    run.values.splice(index, 0, value)
    this.#size++
    if (run.keys.length > runKeysMax) this.#split(runIndex, index === run.keys.length - 1)
  }

  delete(key: string): boolean {
    const runIndex = this.#runIndex(key)
    const run = this.#runs[runIndex]
    if (run === undefined) return false
    const index = lowerBound(run.keys, key)
    if (run.keys[index] !== key) return false
    run.keys.splice(index, 1)
    run.values.splice(index, 1)
    this.#size--
    if (run.keys.length === 0) this.#runs.splice(runIndex, 1)
    return true
  }

  /** Number of keys less than this one. */
  rank(key: string): number {
    const runIndex = this.#runIndex(key)
    let count = 0
    for (let index = 0; index < runIndex && index < this.#runs.length; index++)
      count += this.#runs[index]!.keys.length
    const run = this.#runs[runIndex]
    return run === undefined ? count : count + lowerBound(run.keys, key)
  }

  /**
   * Values in key order, from the first key at or after `start`. The map must not be changed during
   * iteration.
   */
  *valuesFrom(start: string): Generator<Value, void, undefined> {
    let runIndex = this.#runIndex(start)
    let index = this.#runs[runIndex] === undefined ? 0 : lowerBound(this.#runs[runIndex]!.keys, start)
    for (; runIndex < this.#runs.length; runIndex++, index = 0) {
      const { values } = this.#runs[runIndex]!
      for (; index < values.length; index++) yield values[index]!
    }
  }

  /** Index of the first run with a last key at or after `key`; the number of runs if there is none. */
  #runIndex(key: string): number {
    let low = 0
    let high = this.#runs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const { keys } = this.#runs[middle]!
      if (keys[keys.length - 1]! < key) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Appended keys leave full runs behind instead of half-empty ones. */
  #split(runIndex: number, appended: boolean): void {
    const run = this.#runs[runIndex]!
    const at = appended ? run.keys.length - 1 : run.keys.length >>> 1
    const rest = { keys: run.keys.splice(at), values: run.values.splice(at) }
    this.#runs.splice(runIndex + 1, 0, rest)
  }
}

/**
 * Maximum keys of one run: small enough for fast insertion, large enough that a million keys make few runs.
 */
const runKeysMax = 512

interface Run<Value> {
  readonly keys: string[]
  readonly values: Value[]
}

/** Index of the first key at or after `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
