/** CPU rates computed from samples of cumulative CPU time. */
export class CpuRates {
  readonly #samples = new Map<string, Sample>()

  /** True if there is a recent sample with a rate. */
  isFresh(key: string, nowMs: number): boolean {
    const sample = this.#samples.get(key)
    return sample !== undefined && nowMs - sample.timeMs <= windowMs && sample.nanoCores !== undefined
  }

  /**
   * Rate since the last sample; the last rate if that sample is too recent. Undefined for the first sample.
   */
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

  /** Drops samples of other keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#samples.keys()) if (!keys.has(key)) this.#samples.delete(key)
  }
}

/** Below this interval rates are too inaccurate; above `windowMs` they are no longer current. */
export const spanMsMin = 900
const windowMs = 120_000

interface Sample {
  readonly timeMs: number
  readonly cpuNanoseconds: number
  readonly nanoCores: number | undefined
}
