/** Figures of the benchmark. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

export function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1)
}

export type Medians = ReadonlyMap<string, number>

/** Measured values by name; the medians count. */
export class Samples {
  readonly #values = new Map<string, number[]>()

  add(name: string, value: number): void {
    this.#values.getOrInsertComputed(name, () => []).push(value)
  }

  /** Adds the milliseconds that the work takes. */
  async time<T>(name: string, work: () => Promise<T>): Promise<T> {
    const started = performance.now()
    const result = await work()
    this.add(name, performance.now() - started)
    return result
  }

  medians(): Medians {
    return new Map(Array.from(this.#values, ([name, values]) => [name, medianOf(values)]))
  }
}
