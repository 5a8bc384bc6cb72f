export interface Center {
  readonly id: string
  readonly x: number
  readonly y: number
}

export type Direction = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'

export function isDirection(key: string): key is Direction {
  return key in vectors
}

const vectors: Readonly<Record<Direction, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** Distance to the side counts more, so that keys move along rows and columns. */
const sideWeight = 2.5
const offCourse = 1e6

/** The nearest element in a direction. Undefined at the edge. */
export function nextInDirection(
  elements: readonly Center[],
  from: Center,
  direction: Direction,
): Center | undefined {
  const [dx, dy] = vectors[direction]
  let best: Center | undefined
  let least = Infinity
  for (const element of elements) {
    const along = (element.x - from.x) * dx + (element.y - from.y) * dy
    const aside = Math.abs((element.x - from.x) * dy) + Math.abs((element.y - from.y) * dx)
    if (along < 1) continue
    // What is more to the side than ahead is taken only if nothing else is left.
    const distance = along + sideWeight * aside + (aside > along ? offCourse : 0)
    if (distance < least) {
      least = distance
      best = element
    }
  }
  return best
}
