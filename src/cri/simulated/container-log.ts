import { dirname } from 'node:path/posix'
import type { AppendFile, Platform } from '#/platform/platform.ts'

/** Longer lines are split into partial lines, as runtimes do. */
const lineBytesMax = 16 * 1_024

const newline = 10

/** Container log in CRI format: `<time> stdout|stderr F|P <text>`. The file is created on the first write. */
export class ContainerLog {
  readonly #platform: Platform
  readonly #path: string
  #file: AppendFile | undefined
  /** True if writes may not have reached the file yet. */
  #isOpen = false
  /** The write in progress; the next one waits for it. */
  #last: Promise<void> = Promise.resolve()

  constructor(platform: Platform, path: string) {
    this.#platform = platform
    this.#path = path
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  write(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> {
    const time = formatTime(this.#platform.clock.now())
    return this.#enqueue(async () => {
      this.#file ??= await this.#open()
      await this.#file.append(formatLines(time, stream, bytes))
    })
  }

  /** Called after log rotation: creates a new file at once. */
  reopen(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#close()
      this.#file = await this.#open()
    })
  }

  /** Resolves when everything is written. */
  close(): Promise<void> {
    return this.#enqueue(() => this.#close()).then(() => void (this.#isOpen = false))
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#isOpen = true
    this.#last = this.#last.then(work).catch((error: unknown) => {
      this.#platform.log.warn('Failed to write log of simulated container', {
        path: this.#path,
        error,
      })
    })
    return this.#last
  }

  async #open(): Promise<AppendFile> {
    const { files } = this.#platform
    await files.makeFolder(dirname(this.#path))
    return files.openAppend(this.#path, { mode: 0o640 })
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.[Symbol.asyncDispose]()
  }
}

/** Nanosecond format with the clock's lower precision. */
function formatTime(nowMs: number): string {
  const microseconds = Math.round((nowMs % 1_000) * 1_000)
  const seconds = new Date(Math.floor(nowMs / 1_000) * 1_000).toISOString().slice(0, 19)
  return `${seconds}.${String(Math.min(microseconds, 999_999)).padStart(6, '0')}000Z`
}

function formatLines(time: string, stream: string, bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = []
  const { length } = bytes
  for (let start = 0; start < length;) {
    const found = bytes.indexOf(newline, start)
    const lineEnd = found < 0 ? length : found
    const end = Math.min(lineEnd, start + lineBytesMax)
    const isWhole = end === lineEnd && found >= 0
    parts.push(
      Buffer.from(`${time} ${stream} ${isWhole ? 'F' : 'P'} `),
      bytes.subarray(start, end),
      Buffer.of(newline),
    )
    start = isWhole ? end + 1 : end
  }
  return Buffer.concat(parts)
}
