/**
 * What a container has said, and says, from the file that the runtime writes. The file is held open, so that what is
 * read is one file even while it is moved away; who follows goes on with the one that takes its place. Nothing is
 * looked at while nothing happens.
 */
import { dirname } from 'node:path'
import { findTail } from './find-tail.ts'
import { LogFilter, type LogSelection } from './log-filter.ts'
import { LogReader, type LogReaderOptions } from './log-reader.ts'
import { Wakeup } from './wakeup.ts'

export interface ContainerLogOptions extends LogReaderOptions {
  readonly selection: LogSelection
  /** Only the last lines; all of them when absent. */
  readonly tailLines?: number
  /** Goes on until the container has ended. */
  readonly follow?: FollowOptions
  readonly signal: AbortSignal
}

export interface FollowOptions {
  /** Whether the container may still say something. */
  readonly isRunning: () => Promise<boolean>
  /** Calls back when that may have changed, until the function that it returns is called. */
  readonly onChange: (callback: () => void) => () => void
}

/** Read and shown at once. */
const pieceBytes = 256 * 1024

/** A container whose file is not there has said nothing. */
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
  // What is written from now on is not asked for, however fast that is.
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
  /** Looked at once at the beginning, and then whenever somebody says that there is a reason to. */
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
        // What it said last may have been written after it was read, and before it ended.
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

  /** Up to where there is nothing more now, in this file or those that take its place. */
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

  /** Resolves when aborted. A folder that is not there yet is waited for in the one that it will be in. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { linuxFiles, path } = this.#options
    const wanted = dirname(path)
    try {
      while (!signal.aborted) {
        const folder = await nearestFolder(linuxFiles, wanted)
        const enough = new AbortController()
        const watching = this.#watchOne(folder, AbortSignal.any([signal, enough.signal]))
        // What happened before the folder was watched was not heard.
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

/** The folder itself, or the first one above it that is there. */
async function nearestFolder(files: LogReaderOptions['linuxFiles'], folder: string): Promise<string> {
  let nearest = folder
  while (nearest !== '/' && (await files.lstat(nearest)) === undefined) nearest = dirname(nearest)
  return nearest
}
