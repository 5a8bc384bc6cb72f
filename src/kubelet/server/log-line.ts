/** A line of a CRI log file: `<time> stdout|stderr F|P <text>`. */
export interface LogLine {
  /** As written: RFC 3339 with any number of fractional digits. */
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  /** The line continues in the next one. */
  readonly isPartial: boolean
  /** Without the newline. */
  readonly text: Uint8Array
}

const blank = 0x20

/** Limit of time, stream and tag together; longer lines are invalid. */
const headBytesMax = 100

/** Undefined if the line is invalid. */
export function parseLogLine(line: Uint8Array): LogLine | undefined {
  const head = line.subarray(0, headBytesMax)
  const timeEnd = head.indexOf(blank)
  const streamEnd = timeEnd < 0 ? -1 : head.indexOf(blank, timeEnd + 1)
  if (streamEnd < 0) return undefined
  const stream = latin1(line, timeEnd + 1, streamEnd)
  if (stream !== 'stdout' && stream !== 'stderr') return undefined
  const tagsEnd = head.indexOf(blank, streamEnd + 1)
  if (tagsEnd < 0) return undefined
  const [tag] = latin1(line, streamEnd + 1, tagsEnd).split(':', 1)
  const time = latin1(line, 0, timeEnd)
  if (!timePattern.test(time)) return undefined
  return { time, stream, isPartial: tag === 'P', text: line.subarray(tagsEnd + 1) }
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

function latin1(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
}

/** Nanoseconds since the Unix epoch. */
export function timeNanoseconds(time: string): bigint {
  const [, seconds = '', fraction = '', zone = 'Z'] =
    /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? []
  const milliseconds = Date.parse(`${seconds}${zone}`)
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** With nine fractional digits, so that times align. */
export function fixedTime(time: string): string {
  const [, seconds = time, fraction = '', zone = ''] =
    /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? []
  return `${seconds}.${fraction.padEnd(9, '0')}${zone}`
}
