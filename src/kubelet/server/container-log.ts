/**
 * Reads and follows a container's log. A file is held open, so that log rotation does not disturb reading;
 * following continues in the new file. It is driven by changes of the log and does not poll.
 */
import { findTail, type LogFile } from './find-tail.ts'
import { LogFilter, type LogSelection } from './log-filter.ts'

export interface ContainerLogOptions {
  readonly source: LogSource
  readonly selection: LogSelection
  /** Only the last lines; all if absent. */
  readonly tailLines?: number
  /** Continue until the container has exited. */
  readonly follow?: FollowOptions
  readonly signal: AbortSignal
}

/** A log in CRI format: a file (`log-reader.ts`), or computed for a simulated container. */
export interface LogSource {
  /** Undefined if there is no log yet. */
  open(): Promise<OpenLog | undefined>
  /** Calls back after changes, and once when they are observed. Resolves when aborted, or without more changes. */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>
}

export interface OpenLog extends AsyncDisposable {
  /** Size as of opening. */
  readonly file: LogFile
  /** True if the log continues in another file. */
  isReplaced(): Promise<boolean>
  /** True if the log was truncated below this size. */
  isShorterThan(sizeBytes: number): Promise<boolean>
}

export interface FollowOptions {
  /** True if the container may still write. */
  readonly isRunning: () => Promise<boolean>
  /** Calls back when that may have changed; returns a function that unsubscribes. */
  readonly onChange: (callback: () => void) => () => void
}

/** Read size. */
const pieceBytes = 256 * 1024

/** Empty if the file does not exist. */
export async function* readContainerLog(
  options: ContainerLogOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { source, selection, tailLines, follow, signal } = options
  if (follow !== undefined) return yield* new FollowedLog(options, follow).read()
  const filter = new LogFilter(selection)
  await using reader = await source.open()
  if (reader === undefined) return
  const { sizeBytes } = reader.file
  let offset = tailLines === undefined ? 0 : await findTail(reader.file, tailLines)
  // Reads up to the size at opening, so that it ends even if the log grows quickly.
  while (offset < sizeBytes && !filter.isOver && !signal.aborted) {
    const piece = await reader.file.read(offset, Math.min(pieceBytes, sizeBytes - offset))
    if (piece.length === 0) break
    offset += piece.length
    const shown = filter.take(piece)
    if (shown.length > 0) yield shown
  }
  const last = filter.finish()
  if (last.length > 0) yield last
}

class FollowedLog {
  readonly #options: ContainerLogOptions
  readonly #follow: FollowOptions
  readonly #filter: LogFilter
  readonly #wakeup = new Wakeup()
  #reader: OpenLog | undefined
  #offset = 0
  #failure: unknown
  /** Checked initially and after each change notification. */
  #mayHaveEnded = true
  #hasEnded = false

  constructor(options: ContainerLogOptions, follow: FollowOptions) {
    this.#options = options
    this.#follow = follow
    this.#filter = new LogFilter(options.selection)
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    const { source, signal, tailLines } = this.#options
    const stop = new AbortController()
    const until = AbortSignal.any([signal, stop.signal])
    until.addEventListener('abort', () => this.#wakeup.wake(), { once: true })
    const forget = this.#follow.onChange(() => {
      this.#mayHaveEnded = true
      this.#wakeup.wake()
    })
    const watching = this.#watch(until)
    try {
      this.#reader = await source.open()
      if (this.#reader && tailLines !== undefined) {
        this.#offset = await findTail(this.#reader.file, tailLines)
      }
      while (!until.aborted) {
        this.#wakeup.arm()
        yield* this.#readOn(until)
        if (this.#filter.isOver || this.#hasEnded) return
        if (this.#failure !== undefined) throw this.#failure
        // After an exit, one more read follows, because output may have been written since the last one.
        if (this.#mayHaveEnded) {
          this.#mayHaveEnded = false
          this.#hasEnded = !(await this.#follow.isRunning())
        }
        if (!this.#hasEnded) await this.#wakeup.wait()
      }
    } finally {
      forget()
      stop.abort()
      await watching
      await this.#reader?.[Symbol.asyncDispose]()
    }
  }

  /** Reads to the current end, through rotated files. */
  async *#readOn(until: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      this.#reader ??= await this.#options.source.open()
      const reader = this.#reader
      if (reader === undefined) return
      const isReplaced = await reader.isReplaced()
      for (;;) {
        const piece = await reader.file.read(this.#offset, pieceBytes)
        if (piece.length === 0) break
        this.#offset += piece.length
        const shown = this.#filter.take(piece)
        if (shown.length > 0) yield shown
        if (this.#filter.isOver || until.aborted) return
      }
      if (isReplaced) {
        await reader[Symbol.asyncDispose]()
        this.#reader = undefined
      } else if (!(await reader.isShorterThan(this.#offset))) return
      this.#filter.startFile()
      this.#offset = 0
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.source.watch(() => this.#wakeup.wake(), signal)
    } catch (error) {
      this.#failure = error
      this.#wakeup.wake()
    }
  }
}

/** Waits for a notification. A notification before the wait is not lost. */
class Wakeup {
  #isAwake = false
  #resolve: (() => void) | undefined

  wake(): void {
    this.#isAwake = true
    this.#resolve?.()
  }

  /** Resets the flag: only later notifications end the next wait. */
  arm(): void {
    this.#isAwake = false
  }

  async wait(): Promise<void> {
    if (this.#isAwake) return
    await new Promise<void>(resolve => {
      this.#resolve = resolve
    })
    this.#resolve = undefined
  }
}
