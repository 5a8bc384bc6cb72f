import type { JSX } from 'preact'
import { niceMax, plotPath, type Sample } from '../format/sample-series.ts'

export interface PlotProps {
  readonly title: string
  readonly samples: readonly Sample[]
  /** The value with its unit. */
  readonly format: (value: number) => string
  /** Such as the capacity; without it, the plot is scaled to its values. */
  readonly limit?: number | undefined
}

const width = 300
const height = 56

/** A small line over time. Its latest value is text, too. */
export function Plot({ title, samples, format, limit }: PlotProps): JSX.Element {
  const latest = samples.at(-1)?.value
  const max = niceMax(Math.max(...samples.map(({ value }) => value), 0))
  const line = plotPath(samples, { width, height, max })
  const text = latest === undefined ? 'no data yet' : format(latest)
  const share =
    latest !== undefined && limit ? ` of ${format(limit)} (${Math.round((latest / limit) * 100)} %)` : ''
  return (
    <figure class="plot">
      <figcaption>
        {title} <strong>{text}</strong>
        {share}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {line === '' ? null : <path class="plot-area" d={`${line}L${width} ${height}L0 ${height}Z`} />}
        <path class="plot-line" d={line} />
      </svg>
      <p class="plot-scale">
        {line === '' ? (samples.length === 0 ? '' : 'One sample so far') : `up to ${format(max)}`}
      </p>
    </figure>
  )
}
