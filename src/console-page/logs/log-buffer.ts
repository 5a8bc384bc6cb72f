export interface LogLine {
  /** Of the pod and container. */
  readonly source: string
  /** RFC 3339 in UTC, with as many digits as the runtime writes; empty if the line has none. */
  readonly time: string
  readonly text: string
}

/** The latest lines of all sources, in the order of their times. */
export class LogBuffer {
  readonly #linesMax: number
  #lines: LogLine[] = []
  #dropped = 0

  constructor({ linesMax }: { readonly linesMax: number }) {
    this.#linesMax = linesMax
  }

  get lines(): readonly LogLine[] {
    return this.#lines
  }

  /** Lines that are no longer there. */
  get dropped(): number {
    return this.#dropped
  }

  push(lines: readonly LogLine[]): void {
    const last = this.#lines.at(-1)
    const all = this.#lines.concat(lines)
    // The sources send their past one after the other; later lines are nearly in order.
    const isOrdered = lines.every((line, index) => {
      const before = index === 0 ? last : lines[index - 1]
      return before === undefined || line.time === '' || before.time <= line.time
    })
    if (!isOrdered) all.sort((left, right) => (left.time < right.time ? -1 : left.time > right.time ? 1 : 0))
    const excess = Math.max(0, all.length - this.#linesMax)
    this.#dropped += excess
    this.#lines = excess > 0 ? all.slice(excess) : all
  }
}

/** A line that was requested with `timestamps=true`. */
export function parseLogLine(source: string, line: string): LogLine {
  const match = /^(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) ?/.exec(line)
  if (match === null) return { source, time: '', text: line }
  return { source, time: match[1] ?? '', text: line.slice(match[0].length) }
}
