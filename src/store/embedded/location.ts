/** The place of a record in the log, as one number: the last number of its segment and the position in its file. */
export function locationOf(segment: number, positionBytes: number): number {
  return segment * fileBytesMax + positionBytes
}

export function segmentAt(location: number): number {
  return Math.floor(location / fileBytesMax)
}

export function positionAt(location: number): number {
  return location % fileBytesMax
}

/** Files are much smaller: a new one is begun when a file has reached the size of a segment. */
const fileBytesMax = 2 ** 32
