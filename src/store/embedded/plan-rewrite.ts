/** Decides which segments are rewritten to free the space of records that were compacted. */
export interface SegmentUsage {
  readonly sizeBytes: number
  /** Size of the records that are still needed. */
  readonly liveBytes: number
}

export interface Run {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/**
 * The run of adjacent segments that frees most space, where each is mostly garbage or small; undefined when none is
 * worth it. Garbage is at least half of the run, so each byte written frees one.
 */
export function planRewrite(segments: readonly SegmentUsage[], segmentBytesMax: number): Run | undefined {
  let best: (Run & { readonly garbage: number }) | undefined
  let from = 0
  let live = 0
  let size = 0
  const close = (to: number): void => {
    const garbage = size - live
    if (garbage * 2 >= size && garbage * garbageShareMin >= segmentBytesMax && garbage > (best?.garbage ?? 0))
      best = { from, to, garbage }
    from = to
    live = 0
    size = 0
  }
  for (const [index, segment] of segments.entries()) {
    const isWorth =
      segment.liveBytes * 2 <= segment.sizeBytes || segment.sizeBytes * smallShare <= segmentBytesMax
    if (!isWorth || live + segment.liveBytes > segmentBytesMax) close(index)
    if (isWorth) {
      live += segment.liveBytes
      size += segment.sizeBytes
    } else {
      from = index + 1
    }
  }
  close(segments.length)
  return best && { from: best.from, to: best.to }
}

/** A run is rewritten when its garbage is this part of a segment. */
const garbageShareMin = 4

/** A segment is small below this part of the usual size. */
const smallShare = 4
