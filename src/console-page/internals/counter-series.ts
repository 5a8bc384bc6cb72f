import { addSample, type Sample } from '../format/sample-series.ts'

/** Samples of many quantities, by name. */
export type SeriesByName = ReadonlyMap<string, readonly Sample[]>

/** Adds a sample to each named quantity. Quantities without a new value are dropped: they no longer exist. */
export function addSamples(
  series: SeriesByName,
  { timeMs, values }: { readonly timeMs: number; readonly values: Iterable<readonly [string, number]> },
): SeriesByName {
  const next = new Map<string, readonly Sample[]>()
  for (const [name, value] of values) next.set(name, addSample(series.get(name) ?? [], { timeMs, value }))
  return next
}

/**
 * The rate per second between each two samples of a counter. A counter that became lower was reset by a restart, since
 * when it has counted its value.
 */
export function ratesOf(samples: readonly Sample[]): Sample[] {
  return samples.slice(1).map(({ timeMs, value }, index) => {
    const before = samples[index] ?? { timeMs, value }
    const seconds = (timeMs - before.timeMs) / 1_000
    const increase = value >= before.value ? value - before.value : value
    return { timeMs, value: seconds > 0 ? increase / seconds : 0 }
  })
}

/** `0`, `0.4`, `12`, `1,200`. */
export function formatRate(perSecond: number | undefined): string {
  if (perSecond === undefined) return ''
  if (perSecond === 0) return '0'
  if (perSecond < 0.05) return '<0.1'
  return perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en')
}
