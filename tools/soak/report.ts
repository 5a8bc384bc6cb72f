/** Samples of a soak as a plot, and what grew in them. */
export interface ProcessUsage {
  readonly memoryMb: number
  readonly descriptors: number
  readonly threads: number
  /** Of one core. */
  readonly cpuPercent: number
}

export interface Sample {
  readonly minute: number
  readonly processes: Readonly<Record<string, ProcessUsage>>
  readonly counts: Readonly<Record<string, number>>
}

type Measure = keyof ProcessUsage

/** Growth of the median from the second quarter to the last one that is still noise. */
const tolerated: Readonly<Record<Measure, { readonly share: number; readonly amount: number }>> = {
  memoryMb: { share: 0.1, amount: 15 },
  descriptors: { share: 0.1, amount: 10 },
  threads: { share: 0.1, amount: 3 },
  cpuPercent: { share: 0.25, amount: 3 },
}

const measures = Object.keys(tolerated) as readonly Measure[]

/** One line for each measure that grew. The first quarter is warm-up. */
export function growthOf(samples: readonly Sample[]): readonly string[] {
  const quarter = Math.floor(samples.length / 4)
  if (quarter === 0) return []
  return seriesOf(samples).flatMap(({ name, measure, values }) => {
    const before = median(values.slice(quarter, 2 * quarter))
    const after = median(values.slice(-quarter))
    const { share, amount } = tolerated[measure]
    if (after - before <= Math.max(amount, before * share)) return []
    return [`${name} ${measure} grew from ${before.toFixed(1)} to ${after.toFixed(1)}`]
  })
}

const width = 60
const bars = '▁▂▃▄▅▆▇█'

/** One line for each measure, between its least and its largest value. */
export function plotSamples(samples: readonly Sample[]): string {
  const lines = seriesOf(samples).map(({ name, measure, values }) => {
    const [least, most] = [Math.min(...values), Math.max(...values)]
    const marks = shorten(values).map(value => {
      const height = most === least ? 0 : Math.round(((value - least) / (most - least)) * (bars.length - 1))
      return bars[height]!
    })
    return `${`${name} ${measure}`.padEnd(24)} ${marks.join('')} ${least.toFixed(1)} to ${most.toFixed(1)}`
  })
  return `${lines.join('\n')}\n`
}

function seriesOf(samples: readonly Sample[]) {
  const names = Object.keys(samples[0]?.processes ?? {})
  return names.flatMap(name =>
    measures.map(measure => ({
      name,
      measure,
      values: samples.map(({ processes }) => processes[name]![measure]),
    })),
  )
}

/** Means of neighbours, so that a long soak fits on a line. */
function shorten(values: readonly number[]): readonly number[] {
  if (values.length <= width) return values
  return Array.from({ length: width }, (_, index) => {
    const part = values.slice(
      Math.floor((index * values.length) / width),
      Math.floor(((index + 1) * values.length) / width),
    )
    return part.reduce((sum, value) => sum + value, 0) / part.length
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}
