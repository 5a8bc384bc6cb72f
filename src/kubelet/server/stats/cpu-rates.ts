/** How much of a processor something uses now, from what it had used before. */
export class CpuRates {
  readonly #samples = new Map<string, Sample>()

  /** Whether something was looked at not too long ago. */
  isFresh(key: string, nowMs: number): boolean {
    const sample = this.#samples.get(key)
    return sample !== undefined && nowMs - sample.timeMs <= windowMs && sample.nanoCores !== undefined
  }

  /** Since the last look; since the look before it when that is hardly over. Undefined at the first. */
  sample(key: string, nowMs: number, cpuNanoseconds: number): number | undefined {
    const before = this.#samples.get(key)
    if (
      before !== undefined &&
      nowMs - before.timeMs < spanMsMin &&
      cpuNanoseconds >= before.cpuNanoseconds
    ) {
      return before.nanoCores
    }
    const isUsable =
      before !== undefined && nowMs - before.timeMs <= windowMs && cpuNanoseconds >= before.cpuNanoseconds
    const nanoCores = isUsable
      ? Math.round((cpuNanoseconds - before.cpuNanoseconds) / ((nowMs - before.timeMs) / 1_000))
      : undefined
    this.#samples.set(key, { timeMs: nowMs, cpuNanoseconds, nanoCores })
    return nanoCores
  }

  /** What is gone is forgotten. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#samples.keys()) if (!keys.has(key)) this.#samples.delete(key)
  }
}

/** Over a shorter time the figure says nothing, over a longer one nothing of now. */
export const spanMsMin = 900
const windowMs = 120_000

interface Sample {
  readonly timeMs: number
  readonly cpuNanoseconds: number
  readonly nanoCores: number | undefined
}
