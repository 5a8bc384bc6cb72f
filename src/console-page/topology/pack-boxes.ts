/** Places the parts of a graph that are not connected beside and below each other. */
export interface Box {
  readonly width: number
  readonly height: number
}

export interface Place {
  readonly x: number
  readonly y: number
}

export interface Packing {
  /** In the order of the boxes. */
  readonly places: readonly Place[]
  readonly width: number
  readonly height: number
}

export interface PackingOptions {
  /** A box that is wider has a row for itself. */
  readonly widthMax: number
  readonly gap: number
}

/** In rows, in the order of the boxes, so that a change of one moves few others. */
export function packBoxes(boxes: readonly Box[], { widthMax, gap }: PackingOptions): Packing {
  const places: Place[] = []
  let x = 0
  let y = 0
  let rowHeight = 0
  let width = 0
  for (const box of boxes) {
    if (x > 0 && x + box.width > widthMax) {
      y += rowHeight + gap
      x = 0
      rowHeight = 0
    }
    places.push({ x, y })
    width = Math.max(width, x + box.width)
    rowHeight = Math.max(rowHeight, box.height)
    x += box.width + gap
  }
  return { places, width, height: y + rowHeight }
}
