import { useRef } from 'preact/hooks'
import type { Polled } from '../data/use-polled.ts'
import { addSamples, type SeriesByName } from './counter-series.ts'

/** The last minutes of quantities that are read from polled data. */
export function useSeries<T>(
  { data, timeMs }: Polled<T>,
  valuesOf: (data: T) => Iterable<readonly [string, number]>,
): SeriesByName {
  const known = useRef<{ readonly timeMs: number; readonly series: SeriesByName }>(empty)
  if (data !== undefined && timeMs !== known.current.timeMs) {
    const values = valuesOf(data)
    known.current = { timeMs, series: addSamples(known.current.series, { timeMs, values }) }
  }
  return known.current.series
}

const empty = { timeMs: 0, series: new Map<string, never>() }
