/** Where the picture of a chain is: hops that ended after the playhead are not shown yet. */
export interface Playback {
  /** Wall time. */
  readonly playheadMs: number
  readonly isPlaying: boolean
}

/** Hops in the order in which they end; each end is a step of the playback. */
export interface Steps {
  readonly startMs: number
  /** Ascending. */
  readonly endsMs: readonly number[]
}

export function planSteps(hops: readonly { readonly startedMs: number; readonly endedMs: number }[]): Steps {
  return {
    startMs: hops.reduce((first, { startedMs }) => Math.min(first, startedMs), Infinity),
    endsMs: hops.map(({ endedMs }) => endedMs).sort((left, right) => left - right),
  }
}

/** Number of hops that have ended at the playhead. */
export function stepAt({ endsMs }: Steps, playheadMs: number): number {
  let low = 0
  let high = endsMs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((endsMs[middle] ?? 0) <= playheadMs) low = middle + 1
    else high = middle
  }
  return low
}

/** The playhead after this number of hops; the start of the chain for 0. */
export function playheadAt({ startMs, endsMs }: Steps, step: number): number {
  const at = Math.max(0, Math.min(endsMs.length, Math.round(step)))
  return at === 0 ? startMs : (endsMs[at - 1] ?? startMs)
}

/** One hop forward or back. Hops that end at the same moment are one step. */
export function stepBy(steps: Steps, playheadMs: number, direction: 1 | -1): number {
  const at = stepAt(steps, playheadMs)
  if (direction === 1) return playheadAt(steps, at + 1)
  const ended = playheadAt(steps, at)
  if (playheadMs > ended) return ended
  return playheadAt(
    steps,
    stepAt({ ...steps, endsMs: steps.endsMs.filter(endMs => endMs < ended) }, playheadMs),
  )
}
