/**
 * A time axis that shows hops of a tenth of a millisecond and image pulls of a minute in one picture: the width of an
 * interval grows with the logarithm of its duration. It does not depend on what comes later, so that a picture that
 * grows does not move.
 */
export interface TimeScale {
  /** In pixels. */
  readonly width: number
  xOf(timeMs: number): number
  timeAt(x: number): number
}

const pixelsPerDoubling = 16

/** Each moment at which a bar begins or ends is a point of the scale; between two points it is linear. */
export function planTimeScale(moments: readonly number[], { widthMin = 0 } = {}): TimeScale {
  const times = [...new Set(moments)].sort((left, right) => left - right)
  const positions: number[] = []
  let width = 0
  times.forEach((timeMs, index) => {
    const before = times[index - 1]
    if (before !== undefined) width += pixelsPerDoubling * Math.log2(1 + timeMs - before)
    positions.push(width)
  })
  const stretch = width > 0 && width < widthMin ? widthMin / width : 1
  const xs = positions.map(position => position * stretch)
  return {
    width: width * stretch,
    xOf: timeMs => interpolate(times, xs, timeMs),
    timeAt: x => interpolate(xs, times, x),
  }
}

/** The value of a monotonic function at `at`, which is given by its values `to` at the points `from`. */
function interpolate(from: readonly number[], to: readonly number[], at: number): number {
  let low = 0
  let high = from.length - 1
  if (at <= (from[0] ?? 0)) return to[0] ?? 0
  if (at >= (from[high] ?? 0)) return to[high] ?? 0
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((from[middle] ?? 0) <= at) low = middle
    else high = middle
  }
  const [begin = 0, end = 0] = [from[low], from[high]]
  const [first = 0, last = 0] = [to[low], to[high]]
  return end === begin ? last : first + ((at - begin) / (end - begin)) * (last - first)
}
