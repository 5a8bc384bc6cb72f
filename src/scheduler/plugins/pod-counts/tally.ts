/** Counts by domain, as a value: who tries out what happens when a pod comes or goes gets another one. */
export class Tally {
  /** Never changes. */
  readonly #counts: Int32Array
  /** The few domains that were changed, and what is there now. */
  readonly changed: ReadonlyMap<number, number>

  constructor(counts: Int32Array, changed: ReadonlyMap<number, number> = none) {
    this.#counts = counts
    this.changed = changed
  }

  get(domain: number): number {
    if (this.changed.size > 0) {
      const count = this.changed.get(domain)
      if (count !== undefined) return count
    }
    return this.#counts[domain] ?? 0
  }

  /** In all domains together, before anything was changed. */
  total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  plus(domain: number, delta: number): Tally {
    return new Tally(this.#counts, new Map(this.changed).set(domain, this.get(domain) + delta))
  }
}

const none: ReadonlyMap<number, number> = new Map()
