/** Converts lines of a log file to the requested output. */
import { fixedTime, parseLogLine, timeNanoseconds, type LogLine } from './log-line.ts'

export interface LogSelection {
  /** Nanoseconds since the Unix epoch; earlier lines are skipped. */
  readonly since?: bigint
  /** Both if absent. */
  readonly stream?: 'stdout' | 'stderr'
  /** Prefix each line with its time. */
  readonly timestamps: boolean
  readonly limitBytes?: number
}

const newline = 0x0a
const lineBreak = Buffer.of(newline)

/** Runtimes write no longer lines; the rest is dropped. */
const lineBytesMax = 1024 * 1024

export class LogFilter {
  readonly #selection: LogSelection
  /** Start of an incomplete line. */
  #rest: Uint8Array = new Uint8Array()
  #isAtLineStart = true
  #leftBytes: number

  constructor(selection: LogSelection) {
    this.#selection = selection
    this.#leftBytes = selection.limitBytes ?? Infinity
  }

  /** True if no more output will follow. */
  get isOver(): boolean {
    return this.#leftBytes <= 0
  }

  /** Output for the next bytes of the file. */
  take(bytes: Uint8Array): Uint8Array {
    const shown: Uint8Array[] = []
    const whole = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    let start = 0
    for (let end = whole.indexOf(newline); end >= 0 && !this.isOver; end = whole.indexOf(newline, start)) {
      this.#show(whole.subarray(start, end), shown)
      start = end + 1
    }
    // A copy, so that the rest does not retain the whole chunk.
    this.#rest = Buffer.from(whole.subarray(start, start + lineBytesMax))
    return Buffer.concat(shown)
  }

  /** Output for an unterminated last line. */
  finish(): Uint8Array {
    const shown: Uint8Array[] = []
    if (this.#rest.length > 0 && !this.isOver) this.#show(this.#rest, shown, true)
    this.#rest = new Uint8Array()
    return Buffer.concat(shown)
  }

  /** Called when reading continues in a new file. */
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
