/** Immutable counts by domain with a small overlay, for hypothetically added and removed pods. */
export class Tally {
  /** Never modified. */
  readonly #counts: Int32Array
  /** Overridden counts by domain. */
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

  /** Sum over all domains, without the overrides. */
  total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  plus(domain: number, delta: number): Tally {
    return new Tally(this.#counts, new Map(this.changed).set(domain, this.get(domain) + delta))
  }
}

const none: ReadonlyMap<number, number> = new Map()
