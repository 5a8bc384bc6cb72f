/** From the lines of a log file to what somebody wants to see of them. */
import { fixedTime, parseLogLine, timeNanoseconds, type LogLine } from './log-line.ts'

export interface LogSelection {
  /** Nanoseconds since 1970: earlier lines are left out. */
  readonly since?: bigint
  /** Both when absent. */
  readonly stream?: 'stdout' | 'stderr'
  /** Each line begins with its time. */
  readonly timestamps: boolean
  readonly limitBytes?: number
}

const newline = 0x0a
const lineBreak = Buffer.of(newline)

/** Longer lines are none of a runtime's: what is past this is left out. */
const lineBytesMax = 1024 * 1024

export class LogFilter {
  readonly #selection: LogSelection
  /** The beginning of a line whose end has not come. */
  #rest: Uint8Array = new Uint8Array()
  #isAtLineStart = true
  #leftBytes: number

  constructor(selection: LogSelection) {
    this.#selection = selection
    this.#leftBytes = selection.limitBytes ?? Infinity
  }

  /** Nothing more will be shown. */
  get isOver(): boolean {
    return this.#leftBytes <= 0
  }

  /** What is shown of the next bytes of the file. */
  take(bytes: Uint8Array): Uint8Array {
    const shown: Uint8Array[] = []
    const whole = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    let start = 0
    for (let end = whole.indexOf(newline); end >= 0 && !this.isOver; end = whole.indexOf(newline, start)) {
      this.#show(whole.subarray(start, end), shown)
      start = end + 1
    }
    // A copy: what is left must not keep the piece that it came with.
    this.#rest = Buffer.from(whole.subarray(start, start + lineBytesMax))
    return Buffer.concat(shown)
  }

  /** A line that was not finished when the file ended. */
  finish(): Uint8Array {
    const shown: Uint8Array[] = []
    if (this.#rest.length > 0 && !this.isOver) this.#show(this.#rest, shown, true)
    this.#rest = new Uint8Array()
    return Buffer.concat(shown)
  }

  /** Another file goes on where this one ended. */
  startFile(): void {
    this.#rest = new Uint8Array()
  }

  #show(bytes: Uint8Array, shown: Uint8Array[], isCut = false): void {
    const line = parseLogLine(bytes)
    if (line === undefined || !this.#selects(line)) return
    const prefix = this.#selection.timestamps && this.#isAtLineStart ? `${fixedTime(line.time)} ` : ''
    if (prefix !== '') this.#push(shown, Buffer.from(prefix))
    this.#push(shown, line.text)
    if (!line.isPartial && !isCut) this.#push(shown, lineBreak)
    this.#isAtLineStart = !line.isPartial
  }

  #selects({ stream, time }: LogLine): boolean {
    const { stream: wanted, since } = this.#selection
    return (
      (wanted === undefined || stream === wanted) && (since === undefined || timeNanoseconds(time) >= since)
    )
  }

  #push(shown: Uint8Array[], bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#leftBytes <= 0) return
    const part = bytes.length > this.#leftBytes ? bytes.subarray(0, this.#leftBytes) : bytes
    this.#leftBytes -= part.length
    shown.push(part)
  }
}
