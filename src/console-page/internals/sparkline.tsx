import type { JSX } from 'preact'
import { niceMax, plotPath, type Sample } from '../format/sample-series.ts'

const width = 96
const height = 20

/** A line of the last minutes beside its latest value. It is decoration: the value is text. */
export function Sparkline({ samples }: { readonly samples: readonly Sample[] }): JSX.Element {
  const max = niceMax(Math.max(...samples.map(({ value }) => value), 0))
  const line = plotPath(samples, { width, height, max: max * 1.05 })
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="plot-line" d={line} />
    </svg>
  )
}
