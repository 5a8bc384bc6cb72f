/** One line of a log file as container runtimes write them: `<time> stdout|stderr F|P <text>`. */
export interface LogLine {
  /** As it is written: RFC 3339, with as many digits of a second as there are. */
  readonly time: string
  readonly stream: 'stdout' | 'stderr'
  /** The next line goes on where this one ends. */
  readonly isPartial: boolean
  /** Without its line break. */
  readonly text: Uint8Array
}

const blank = 0x20

/** Time, stream and tag are this long at most; a line with a longer head is none. */
const headBytesMax = 100

/** Undefined when it is no such line. */
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

/** Nanoseconds since 1970. */
export function timeNanoseconds(time: string): bigint {
  const [, seconds = '', fraction = '', zone = 'Z'] =
    /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? []
  const milliseconds = Date.parse(`${seconds}${zone}`)
  return Number.isNaN(milliseconds) ? 0n : BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

/** With all nine digits, so that what stands below each other can be compared. */
export function fixedTime(time: string): string {
  const [, seconds = time, fraction = '', zone = ''] =
    /^([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? []
  return `${seconds}.${fraction.padEnd(9, '0')}${zone}`
}
