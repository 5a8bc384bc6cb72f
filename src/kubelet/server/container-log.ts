/**
 * Reads and follows a container's log file. The file is held open, so that log rotation does not disturb
 * reading; following continues in the new file. It is driven by file watches and does not poll.
 */
import { dirname } from 'node:path'
import { findTail } from './find-tail.ts'
import { LogFilter, type LogSelection } from './log-filter.ts'
import { LogReader, type LogReaderOptions } from './log-reader.ts'

export interface ContainerLogOptions extends LogReaderOptions {
  readonly selection: LogSelection
  /** Only the last lines; all if absent. */
  readonly tailLines?: number
  /** Continue until the container has exited. */
  readonly follow?: FollowOptions
  readonly signal: AbortSignal
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
  const { selection, tailLines, follow, signal } = options
  if (follow !== undefined) return yield* new FollowedLog(options, follow).read()
  const filter = new LogFilter(selection)
  await using reader = await LogReader.open(options)
  if (reader === undefined) return
  const { sizeBytes } = reader.file
  let offset = tailLines === undefined ? 0 : await findTail(reader.file, tailLines)
  // Reads up to the size at opening, so that it ends even if the log grows quickly.
  while (offset < sizeBytes && !filter.isOver && !signal.aborted) {
    const piece = await reader.read(offset, Math.min(pieceBytes, sizeBytes - offset))
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
  #reader: LogReader | undefined
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
    const { signal, tailLines } = this.#options
    const stop = new AbortController()
    const until = AbortSignal.any([signal, stop.signal])
    until.addEventListener('abort', () => this.#wakeup.wake(), { once: true })
    const forget = this.#follow.onChange(() => {
      this.#mayHaveEnded = true
      this.#wakeup.wake()
    })
    const watching = this.#watch(until)
    try {
      this.#reader = await LogReader.open(this.#options)
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
      this.#reader ??= await LogReader.open(this.#options)
      const reader = this.#reader
      if (reader === undefined) return
      const isReplaced = await reader.isReplaced()
      for (;;) {
        const piece = await reader.read(this.#offset, pieceBytes)
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

  /** Resolves when aborted. If the directory does not exist yet, watches its nearest existing parent. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { linuxFiles, path } = this.#options
    const wanted = dirname(path)
    try {
      while (!signal.aborted) {
        const folder = await nearestFolder(linuxFiles, wanted)
        const enough = new AbortController()
        const watching = this.#watchOne(folder, AbortSignal.any([signal, enough.signal]))
        // Changes before the watch started were missed.
        this.#wakeup.wake()
        if (folder !== wanted && (await nearestFolder(linuxFiles, wanted)) !== folder) enough.abort()
        await watching
        enough.abort()
      }
    } catch (error) {
      this.#failure = error
      this.#wakeup.wake()
    }
  }

  async #watchOne(folder: string, signal: AbortSignal): Promise<void> {
    const { linuxFiles, path } = this.#options
    for await (const _name of linuxFiles.watch(folder, signal)) {
      this.#wakeup.wake()
      if (folder !== dirname(path)) return
    }
  }
}

/** The directory itself or its nearest existing parent. */
async function nearestFolder(files: LogReaderOptions['linuxFiles'], folder: string): Promise<string> {
  let nearest = folder
  while (nearest !== '/' && (await files.lstat(nearest)) === undefined) nearest = dirname(nearest)
  return nearest
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
