/** The latest values of a quantity that is sampled over time. */
export interface Sample {
  readonly timeMs: number
  readonly value: number
}

export const samplesMax = 120

/** A sample with the time of the last one is ignored: the server measures more rarely than it is asked. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && sample.timeMs <= last.timeMs) return samples
  return [...samples, sample].slice(-samplesMax)
}

export interface PlotArea {
  readonly width: number
  readonly height: number
  /** The value at the upper edge. */
  readonly max: number
}

/** The points of a line in an SVG path; empty for fewer than two samples. */
export function plotPath(samples: readonly Sample[], { width, height, max }: PlotArea): string {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined || first === last || max <= 0) return ''
  const span = last.timeMs - first.timeMs
  const points = samples.map(({ timeMs, value }) => {
    const x = ((timeMs - first.timeMs) / span) * width
    const y = height - (Math.min(value, max) / max) * height
    return `${x.toFixed(1)} ${y.toFixed(1)}`
  })
  return `M${points.join('L')}`
}

/** A round value not below the maximum, so that the scale of a plot rarely changes: 1, 2 or 5 times a power of ten. */
export function niceMax(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 5, 10].find(each => each * power >= value * (1 - 1e-9)) ?? 10
  return factor * power
}
