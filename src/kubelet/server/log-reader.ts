import { basename, dirname } from 'node:path'
import type { OpenPath, LinuxFiles } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'
import type { LogSource, OpenLog } from './container-log.ts'
import type { LogFile } from './find-tail.ts'

export interface LogReaderOptions {
  readonly files: Pick<Files, 'stat'>
  readonly linuxFiles: Pick<LinuxFiles, 'openBeneath' | 'readRange' | 'watch' | 'lstat'>
  readonly path: string
}

/** The log file that a container runtime writes. */
export function logFileSource(options: LogReaderOptions): LogSource {
  return {
    open: () => LogReader.open(options),
    watch: (onChange, signal) => watch(options, onChange, signal),
  }
}

/** If the directory does not exist yet, watches its nearest existing parent. */
async function watch(options: LogReaderOptions, onChange: () => void, signal: AbortSignal): Promise<void> {
  const { linuxFiles, path } = options
  const wanted = dirname(path)
  const watchOne = async (folder: string, until: AbortSignal): Promise<void> => {
    for await (const _name of linuxFiles.watch(folder, until)) {
      onChange()
      if (folder !== wanted) return
    }
  }
  while (!signal.aborted) {
    const folder = await nearestFolder(linuxFiles, wanted)
    const enough = new AbortController()
    const watching = watchOne(folder, AbortSignal.any([signal, enough.signal]))
    // Changes before the watch started were missed.
    onChange()
    if (folder !== wanted && (await nearestFolder(linuxFiles, wanted)) !== folder) enough.abort()
    await watching
    enough.abort()
  }
}

/** The directory itself or its nearest existing parent. */
async function nearestFolder(files: LogReaderOptions['linuxFiles'], folder: string): Promise<string> {
  let nearest = folder
  while (nearest !== '/' && (await files.lstat(nearest)) === undefined) nearest = dirname(nearest)
  return nearest
}

/** The file that was at the path when it was opened, even after it was renamed. */
class LogReader implements OpenLog {
  readonly #options: LogReaderOptions
  readonly #held: OpenPath
  readonly #inode: bigint
  readonly file: LogFile

  private constructor(options: LogReaderOptions, { held, inode, sizeBytes }: OpenedLog) {
    this.#options = options
    this.#held = held
    this.#inode = inode
    const { linuxFiles } = options
    this.file = { sizeBytes, read: (offset, length) => linuxFiles.readRange(held.path, offset, length) }
  }

  /** Undefined if the file does not exist. */
  static async open(options: LogReaderOptions): Promise<LogReader | undefined> {
    const opened = await openLog(options)
    return opened && new LogReader(options, opened)
  }

  /** True if a new file is at the path and not empty; until then the runtime may still write to this one. */
  async isReplaced(): Promise<boolean> {
    const current = await this.#options.linuxFiles.lstat(this.#options.path)
    return current !== undefined && current.inode !== this.#inode && current.sizeBytes > 0
  }

  async isShorterThan(sizeBytes: number): Promise<boolean> {
    const current = await this.#options.files.stat(this.#held.path)
    return current !== undefined && current.sizeBytes < sizeBytes
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held[Symbol.asyncDispose]()
  }
}

interface OpenedLog {
  readonly held: OpenPath
  readonly inode: bigint
  readonly sizeBytes: number
}

/** Attempts to open a file without a concurrent rotation. */
const triesMax = 10

async function openLog({ linuxFiles, files, path }: LogReaderOptions): Promise<OpenedLog | undefined> {
  for (let tries = 1; ; tries++) {
    const before = await linuxFiles.lstat(path)
    if (before === undefined) return undefined
    const held = await linuxFiles.openBeneath(dirname(path), basename(path)).catch(ifThere)
    const after = await linuxFiles.lstat(path)
    if (held !== undefined && (after?.inode === before.inode || tries === triesMax)) {
      const status = await files.stat(held.path)
      return { held, inode: before.inode, sizeBytes: status?.sizeBytes ?? 0 }
    }
    await held?.[Symbol.asyncDispose]()
    if (tries === triesMax) return undefined
  }
}

function ifThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
