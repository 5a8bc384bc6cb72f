/**
 * A map from strings to values that keeps its keys in order, finds the neighbours of a key and counts how
 * many lie before it. Keys sit in runs of a few hundred, so an insertion moves little memory and a million
 * keys need only two searches.
 */
export class SortedMap<Value> {
  /** Never empty runs, in order; every key of a run is before every key of the next. */
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

  /** How many keys are before this one. */
  rank(key: string): number {
    const runIndex = this.#runIndex(key)
    let count = 0
    for (let index = 0; index < runIndex && index < this.#runs.length; index++)
      count += this.#runs[index]!.keys.length
    const run = this.#runs[runIndex]
    return run === undefined ? count : count + lowerBound(run.keys, key)
  }

  /**
   * Values in the order of their keys, from the first key at or after `start`. The map must not change
   * meanwhile.
   */
  *valuesFrom(start: string): Generator<Value, void, undefined> {
    let runIndex = this.#runIndex(start)
    let index = this.#runs[runIndex] === undefined ? 0 : lowerBound(this.#runs[runIndex]!.keys, start)
    for (; runIndex < this.#runs.length; runIndex++, index = 0) {
      const { values } = this.#runs[runIndex]!
      for (; index < values.length; index++) yield values[index]!
    }
  }

  /** The first run whose last key is at or after the key; one past the end when there is none. */
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

  /** Keys that arrive in order leave full runs behind instead of half-empty ones. */
  #split(runIndex: number, appended: boolean): void {
    const run = this.#runs[runIndex]!
    const at = appended ? run.keys.length - 1 : run.keys.length >>> 1
    const rest = { keys: run.keys.splice(at), values: run.values.splice(at) }
    this.#runs.splice(runIndex + 1, 0, rest)
  }
}

/** Keys of one run: short enough to insert into at once, long enough that a million keys make few runs. */
const runKeysMax = 512

interface Run<Value> {
  readonly keys: string[]
  readonly values: Value[]
}

/** The index of the first key at or after the one given. */
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
