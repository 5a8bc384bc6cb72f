import { dirname, resolve } from 'node:path'
import { quote } from '#/api/text/quote.ts'
import { readTar, type ReadTarEntry } from '#/base/read-tar.ts'
import type { CommandProcess } from '#/streams/streams.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { Files } from '#/platform/platform.ts'
import { archivePrefix, planTarget } from './file-spec.ts'
import type { PodShell } from './pod-shell.ts'

export interface CopyFromPodOptions {
  readonly files: Files
  /** Base of relative paths. */
  readonly workingFolder: string
  readonly streams: Pick<IOStreams, 'write' | 'writeError'>
  readonly shell: Pick<PodShell, 'start' | 'check'>
  readonly source: string
  readonly destination: string
  /** How often an interrupted copy is resumed; without limit if negative. */
  readonly retriesMax: number
  /** A command that copies symbolic links, too, for the warning. */
  readonly alternative: string
}

/**
 * Copies a file or folder of a container with its tar. The container is not trusted: only files and folders below the
 * destination are created. Throws Error.
 */
export async function copyFromPod(options: CopyFromPodOptions): Promise<void> {
  const { source, destination } = options
  const archive = new PodArchive(options)
  const writer = new EntryWriter(options)
  const prefix = archivePrefix(source)
  for await (const entry of readTar(archive.bytes())) {
    const target = planTarget(entry.path, { prefix, destination })
    if (target === undefined) throw new Error('tar contents corrupted')
    if (target.isOutside) writer.warn(`file ${quote(target.path)} is outside target destination, skipping`)
    else await writer.write(entry, target.path)
  }
  await archive.finish()
}

class EntryWriter {
  readonly #options: CopyFromPodOptions
  #hasExplained = false

  constructor(options: CopyFromPodOptions) {
    this.#options = options
  }

  warn(text: string): void {
    this.#options.streams.writeError(`warning: ${text}\n`)
  }

  async write({ type, target, content }: ReadTarEntry, path: string): Promise<void> {
    const { files, workingFolder } = this.#options
    const absolute = resolve(workingFolder, path)
    await files.makeFolder(dirname(absolute))
    if (type === 'folder') return files.makeFolder(absolute)
    if (type === 'symlink') return this.#skipLink(path, target)
    if (type === 'link') return this.warn(`skipping hard link: ${quote(path)} -> ${quote(target)}`)
    if (type === 'other') return this.warn(`skipping ${quote(path)}: neither a file nor a folder`)
    if ((await files.stat(absolute))?.isFolder) throw new Error(`open ${path}: is a directory`)
    await using file = await files.create(absolute)
    for await (const piece of content) await file.append(piece)
  }

  #skipLink(path: string, target: string): void {
    const hint = this.#hasExplained ? '' : ` (consider using "${this.#options.alternative}")`
    this.#hasExplained = true
    this.warn(`skipping symlink: ${quote(path)} -> ${quote(target)}${hint}`)
  }
}

/** The output of tar in the container, resumed after interruptions. */
class PodArchive {
  readonly #options: CopyFromPodOptions
  #process: CommandProcess | undefined
  #readBytes = 0
  #retries = 0

  constructor(options: CopyFromPodOptions) {
    this.#options = options
  }

  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const process = await this.#start()
      try {
        for await (const piece of process.stdout) {
          this.#readBytes += piece.length
          yield piece
        }
      } catch {
        // The result of the process tells that the connection broke.
      }
      if (!(await this.#isResumed(process))) return
    }
  }

  /** After the end mark: reads what follows it, so that tar can end. Throws if tar has failed. */
  async finish(): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    for await (const _ of process.stdout);
    this.#options.shell.check(await process.result)
    await process[Symbol.asyncDispose]()
  }

  async #start(): Promise<CommandProcess> {
    const { shell, streams, source, retriesMax } = this.#options
    const quoted = source.replaceAll("'", String.raw`'\''`)
    const start = this.#retries === 0 ? 0 : this.#readBytes + 1
    const process = await shell.start({
      command:
        retriesMax === 0
          ? ['tar', 'cf', '-', source]
          : ['sh', '-c', `tar cf - '${quoted}' | tail -c+${start}`],
      stdin: false,
      warn: text => streams.write(`${text}\n`),
    })
    this.#process = process
    void this.#printErrors(process)
    return process
  }

  async #printErrors(process: CommandProcess): Promise<void> {
    const { streams } = this.#options
    try {
      for await (const piece of process.stderr) streams.write(piece)
    } catch {
      // The result of the process tells that the connection broke.
    }
  }

  /** The output has ended before the archive. Throws if tar has failed or no retries are left. */
  async #isResumed(process: CommandProcess): Promise<boolean> {
    const { shell, streams, retriesMax } = this.#options
    const result = await process.result
    await process[Symbol.asyncDispose]()
    if (result.type === 'exited') shell.check(result)
    const isResumed = retriesMax < 0 || this.#retries < retriesMax
    if (isResumed) {
      this.#retries++
      streams.write(`Resuming copy at ${this.#readBytes} bytes, retry ${this.#retries}/${retriesMax}\n`)
      return true
    }
    streams.write(`Dropping out copy after ${this.#retries} retries\n`)
    shell.check(result)
    this.#process = undefined
    return false
  }
}
