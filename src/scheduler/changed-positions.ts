/**
 * The positions of changed nodes in each of the last snapshots with the same order of nodes, so that the difference of
 * two snapshots costs as much as the changes between them.
 */
export class ChangedPositions {
  readonly #positionsMax: number
  /** Positions changed after generation `#since`, oldest first. */
  #positions: number[] = []
  /** End in `#positions` of each generation after `#since`. */
  #ends: number[] = []
  #since: number

  constructor(generation: number, nodeCount: number) {
    this.#since = generation
    this.#positionsMax = nodeCount + positionsSpare
  }

  /** Adds the generation after the last one. */
  add(positions: Iterable<number>): void {
    this.#positions.push(...positions)
    this.#ends.push(this.#positions.length)
    if (this.#positions.length > 2 * this.#positionsMax) this.#forgetOldest()
  }

  /** Each position once, for two generations in any order; undefined if the changes of that time are forgotten. */
  between(one: number, other: number): readonly number[] | undefined {
    const [generation, later] = one < other ? [one, other] : [other, one]
    if (generation < this.#since) return undefined
    const positions = this.#positions.slice(this.#endOf(generation), this.#endOf(later))
    return later - generation <= 1 || positions.length <= 1 ? positions : [...new Set(positions)]
  }

  #endOf(generation: number): number {
    return generation === this.#since ? 0 : this.#ends[generation - this.#since - 1]!
  }

  #forgetOldest(): void {
    const count = this.#ends.findIndex(end => end >= this.#positions.length - this.#positionsMax) + 1
    const end = this.#ends[count - 1]!
    this.#positions = this.#positions.slice(end)
    this.#ends = this.#ends.slice(count).map(each => each - end)
    this.#since += count
  }
}

/** Added to the number of nodes: comparing all nodes is not slower than more changes than that. */
const positionsSpare = 1_000
