/** The rows of a long list that are in the document. */
export interface VirtualWindow {
  /** Index of the first row. */
  readonly start: number
  /** Index after the last row. */
  readonly end: number
  /** Distance of the first row from the top of the list, in pixels. */
  readonly offset: number
  readonly totalHeight: number
}

export interface VirtualGeometry {
  readonly count: number
  readonly rowHeight: number
  readonly scrollTop: number
  readonly viewHeight: number
  /** Rows beyond the visible ones, so that none is missing while scrolling. */
  readonly overscan: number
}

/**
 * The window starts at an even row, so that striped rows keep their colour, and moves in steps of the overscan, so that
 * most scroll events change nothing.
 */
export function virtualWindow(geometry: VirtualGeometry): VirtualWindow {
  const { count, rowHeight, scrollTop, viewHeight, overscan } = geometry
  const totalHeight = count * rowHeight
  const top = Math.min(Math.max(0, scrollTop), Math.max(0, totalHeight - viewHeight))
  const step = Math.max(2, overscan - (overscan % 2))
  const first = Math.floor(top / rowHeight)
  const last = Math.ceil((top + viewHeight) / rowHeight)
  const start = Math.max(0, Math.floor((first - overscan / 2) / step) * step)
  const end = Math.min(count, Math.ceil((last + overscan / 2) / step) * step)
  return { start, end, offset: start * rowHeight, totalHeight }
}

/** The scroll position at which a row is visible; unchanged if it is already. */
export function scrollTopFor(
  index: number,
  { rowHeight, scrollTop, viewHeight }: Pick<VirtualGeometry, 'rowHeight' | 'scrollTop' | 'viewHeight'>,
): number {
  const top = index * rowHeight
  if (top < scrollTop) return top
  const bottom = top + rowHeight
  return bottom > scrollTop + viewHeight ? bottom - viewHeight : scrollTop
}
