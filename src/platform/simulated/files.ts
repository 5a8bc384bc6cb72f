/** The files of one life: the host's disk with latency and errors. */
import { posix } from 'node:path'
import type { AppendFile, Files, FileStatus, FileWriter, ReadFile } from '../platform.ts'
import { emptyFolder, segments, type Disk, type Folder } from './disk.ts'
import type { DiskOperation } from './disk-faults.ts'
import { File } from './file.ts'
import {
  SimulatedAppendFile,
  SimulatedFileWriter,
  SimulatedReadFile,
  type OpenedFile,
} from './file-handles.ts'
import { between, chance } from './labelled-random.ts'
import type { Life } from './life.ts'
import { never, systemError, type World } from './world.ts'

const fileMode = 0o644
const folderMode = 0o755
/** Mode of files that a file writer creates. */
const writerFileMode = 0o600

export class SimulatedFiles implements Files {
  readonly #world: World
  readonly #disk: Disk
  readonly #life: Life
  /** Wall clock of the host. */
  readonly #nowMs: () => number

  constructor(options: { world: World; disk: Disk; life: Life; nowMs: () => number }) {
    this.#world = options.world
    this.#disk = options.disk
    this.#life = options.life
    this.#nowMs = options.nowMs
  }

  read(path: string): Promise<Uint8Array> {
    return this.#look(() => this.#disk.read(this.#disk.file(path), { path }))
  }

  list(path: string): Promise<string[]> {
    return this.#look(() => [...this.#disk.folder(path).entries.keys()].sort())
  }

  stat(path: string): Promise<FileStatus | undefined> {
    return this.#look(() => {
      const found = this.#disk.find(path)
      if (found === undefined) return undefined
      const { modifiedMs, mode } = found
      const isFolder = !(found instanceof File)
      const sizeBytes = isFolder ? 0 : found.sizeBytes
      return { sizeBytes, isFolder, isFile: !isFolder, modifiedMs, mode, uid: 0, gid: 0 }
    })
  }

  realPath(path: string): Promise<string> {
    return this.#look(() => {
      if (this.#disk.find(path) === undefined) throw systemError('ENOENT', `no such file: ${path}`)
      return posix.resolve('/', path)
    })
  }

  write(path: string, content: Uint8Array | string, options?: { readonly mode?: number }): Promise<void> {
    // Copied, because the caller may reuse its buffer.
    const bytes = typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content)
    const durationMs = this.#disk.faults.accessMs + this.#syncMs()
    return this.#change({ operation: 'write', what: `${path} ${bytes.length}`, durationMs }, () => {
      const { folder, name } = this.#disk.parent(path)
      const old = folder.entries.get(name)
      if (old !== undefined && !(old instanceof File)) throw systemError('EISDIR', `is a folder: ${path}`)
      this.#disk.checkRoom(bytes.length - (old?.sizeBytes ?? 0))
      const mode = options?.mode ?? old?.mode ?? fileMode
      const file = new File({ mode, modifiedMs: this.#touch(folder) })
      this.#disk.write(file, { path, positionBytes: 0, bytes })
      file.sync(file.beginSync())
      folder.entries.set(name, file)
      folder.unsyncedNames.delete(name)
    })
  }

  /** There are no symbolic links. */
  async readLink(path: string): Promise<undefined> {
    await this.realPath(path)
  }

  async openAppend(path: string, options?: { readonly mode?: number }): Promise<AppendFile> {
    return this.#appendTo(await this.#look(() => this.#open(path, options?.mode ?? fileMode)))
  }

  async create(path: string): Promise<AppendFile> {
    const opened = await this.#look(() => this.#open(path, fileMode))
    if (!opened.isCreated) await this.truncate(path, 0)
    return this.#appendTo(opened)
  }

  #appendTo(opened: OpenedFile): AppendFile {
    return new SimulatedAppendFile(this.#life, {
      append: bytes => {
        const end = (): number => opened.file.sizeBytes
        return this.#writeBytes({ operation: 'append', opened, position: end, bytes })
      },
      sync: () => this.#sync(opened, { includesName: true }),
    })
  }

  openRead(path: string): Promise<ReadFile> {
    return this.#look(() => {
      const file = this.#disk.file(path)
      return new SimulatedReadFile((positionBytes, lengthBytes) => {
        // Code of an ended life must not cause faults.
        if (this.#life.ended) return file.read(positionBytes, lengthBytes)
        return this.#disk.read(file, { path, positionBytes, lengthBytes })
      })
    })
  }

  openWriter(): Promise<FileWriter> {
    const writer = new SimulatedFileWriter(this.#life, {
      open: path => this.#open(path, writerFileMode),
      write: (opened, positionBytes, bytes) => {
        return this.#writeBytes({ operation: 'write-at', opened, position: () => positionBytes, bytes })
      },
      sync: opened => this.#sync(opened, { includesName: opened.isCreated }),
    })
    return this.#look(() => writer)
  }

  truncate(path: string, sizeBytes: number): Promise<void> {
    return this.#change({ operation: 'truncate', what: `${path} ${sizeBytes}` }, () => {
      const isSize = Number.isSafeInteger(sizeBytes) && sizeBytes >= 0
      if (!isSize) throw systemError('EINVAL', `not a size: ${sizeBytes}`)
      const file = this.#disk.file(path)
      this.#disk.checkRoom(sizeBytes - file.sizeBytes)
      file.change({ type: 'truncate', sizeBytes })
      this.#touch(file)
    })
  }

  link(existing: string, added: string): Promise<void> {
    return this.#change({ operation: 'link', what: `${existing} ${added}` }, () => {
      const source = this.#disk.parent(existing)
      const target = this.#disk.parent(added)
      const linked = source.folder.entries.get(source.name)
      if (linked === undefined) throw systemError('ENOENT', `no such file: ${existing}`)
      if (!(linked instanceof File)) throw systemError('EPERM', `is a folder: ${existing}`)
      if (target.folder.entries.has(target.name)) throw systemError('EEXIST', `is there already: ${added}`)
      target.folder.entries.set(target.name, linked)
      // One sync of the folder makes both names durable.
      if (source.folder === target.folder) source.folder.unsyncedNames.delete(source.name)
      this.#touch(target.folder)
    })
  }

  lock(path: string): Promise<AsyncDisposable | undefined> {
    return this.#look(() => {
      const { file } = this.#open(path, fileMode)
      if (file.isLocked) return undefined
      file.isLocked = true
      let isHeld = true
      const unlock = (): void => {
        // Only once: afterwards the lock may be held by another life.
        if (isHeld) file.isLocked = false
        isHeld = false
      }
      const forget = this.#life.onEnd(unlock)
      const release = (): void => {
        forget()
        unlock()
      }
      return { [Symbol.asyncDispose]: async () => (this.#life.ended ? never() : release()) }
    })
  }

  rename(from: string, to: string): Promise<void> {
    return this.#change({ operation: 'rename', what: `${from} ${to}` }, () => {
      const source = this.#disk.parent(from)
      const target = this.#disk.parent(to)
      const moved = source.folder.entries.get(source.name)
      const old = target.folder.entries.get(target.name)
      if (moved === undefined) throw systemError('ENOENT', `no such file: ${from}`)
      if (moved === old) return
      const isInside = posix.relative(from, to).split('/')[0] !== '..'
      if (isInside) throw systemError('EINVAL', `cannot move ${from} into itself`)
      checkReplaceable(moved, old, to)
      source.folder.entries.delete(source.name)
      target.folder.entries.set(target.name, moved)
      source.folder.unsyncedNames.delete(source.name)
      target.folder.unsyncedNames.delete(target.name)
      this.#touch(source.folder)
      this.#touch(target.folder)
    })
  }

  remove(path: string): Promise<void> {
    return this.#change({ operation: 'remove', what: path }, () => {
      if (this.#disk.find(path) === undefined) return
      const { folder, name } = this.#disk.parent(path)
      folder.entries.delete(name)
      folder.unsyncedNames.delete(name)
      this.#touch(folder)
    })
  }

  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void> {
    return this.#change({ operation: 'make-folder', what: path }, () => {
      let folder = this.#disk.folder('/')
      for (const name of segments(path)) {
        const next = folder.entries.get(name)
        if (next instanceof File) throw systemError('EEXIST', `a file is there: ${path}`)
        const mode = options?.mode ?? folderMode
        const made = next ?? emptyFolder({ mode, modifiedMs: this.#touch(folder) })
        folder.entries.set(name, made)
        folder = made
      }
    })
  }

  /** The file at the path, which is created when missing. */
  #open(path: string, mode: number): OpenedFile {
    const { folder, name } = this.#disk.parent(path)
    const found = folder.entries.get(name)
    if (found instanceof File) return { path, file: found, folder, name, isCreated: false }
    if (found !== undefined) throw systemError('EISDIR', `is a folder: ${path}`)
    const file = new File({ mode, modifiedMs: this.#touch(folder) })
    folder.entries.set(name, file)
    folder.unsyncedNames.add(name)
    return { path, file, folder, name, isCreated: true }
  }

  #writeBytes({ operation, opened, position, bytes }: Write): Promise<void> {
    const { path, file } = opened
    const failed = (): void => {
      // A failing write still writes a random part.
      const written = this.#disk.random.integer(this.#disk.label('short write'), bytes.length + 1)
      this.#disk.write(file, { path, positionBytes: position(), bytes: bytes.subarray(0, written) })
    }
    return this.#change({ operation, what: `${path} ${bytes.length}`, failed }, () => {
      const positionBytes = position()
      const missing = Math.max(0, positionBytes + bytes.length - file.sizeBytes - this.#disk.roomBytes)
      const written = bytes.subarray(0, Math.max(0, bytes.length - missing))
      this.#disk.write(file, { path, positionBytes, bytes: written })
      this.#touch(file)
      if (missing > 0) throw systemError('ENOSPC', 'no space left on device')
    })
  }

  #sync(
    { path, file, folder, name }: OpenedFile,
    { includesName }: { includesName: boolean },
  ): Promise<void> {
    const began = file.beginSync()
    const failed = (): void => file.failSync(began, this.#disk.tearing())
    return this.#change({ operation: 'sync', what: path, durationMs: this.#syncMs(), failed }, () => {
      if (this.#disk.faults.ignoresSync) return
      file.sync(began)
      // Another file may have the name by now.
      if (includesName && folder.entries.get(name) === file) folder.unsyncedNames.delete(name)
    })
  }

  /** An operation that does not change the disk: takes time. */
  #look<T>(look: () => T): Promise<T> {
    if (this.#life.ended) return never()
    return new Promise((resolve, reject) => {
      this.#life.later(this.#disk.faults.accessMs, () => attempt(look, { resolve, reject }))
    })
  }

  /**
   * A write operation: takes time and may fail; if the life ends meanwhile, a random draw decides whether it
   * happened.
   */
  #change(change: Change, apply: () => void): Promise<void> {
    if (this.#life.ended) return never()
    const { operation, what, durationMs = this.#disk.faults.accessMs, failed } = change
    return new Promise((resolve, reject) => {
      const forget = this.#life.onEnd(() => {
        const happened = chance(this.#disk.random, this.#disk.label(`${operation} at the end`), 0.5)
        this.#record(`${operation} ${what}, interrupted${happened ? ' when done' : ''}`)
        if (happened) attempt(apply, { resolve: () => {}, reject: () => {} })
      })
      this.#life.later(durationMs, () => {
        forget()
        const error = this.#disk.dueError(operation)
        this.#record(`${operation} ${what}${error === undefined ? '' : `, ${error.message}`}`)
        if (error === undefined) return attempt(apply, { resolve, reject })
        failed?.()
        reject(error)
      })
    })
  }

  #record(what: string): void {
    this.#world.trace.record(this.#life.name, `disk ${what}`)
  }

  #syncMs(): number {
    const { syncMinMs, syncMaxMs, stallRate, stallMs } = this.#disk.faults
    const usualMs = between(this.#disk.random, this.#disk.label('sync'), { min: syncMinMs, max: syncMaxMs })
    return chance(this.#disk.random, this.#disk.label('stall'), stallRate) ? usualMs + stallMs : usualMs
  }

  /** Sets the modification time to now. */
  #touch(changed: { modifiedMs: number }): number {
    changed.modifiedMs = this.#nowMs()
    return changed.modifiedMs
  }
}

interface Change {
  readonly operation: DiskOperation
  /** Description for the trace. */
  readonly what: string
  readonly durationMs?: number
  /** Effect on the disk in case of a failure. */
  readonly failed?: () => void
}

interface Write {
  readonly operation: 'append' | 'write-at'
  readonly opened: OpenedFile
  /** At the time when the write happens. */
  readonly position: () => number
  readonly bytes: Uint8Array
}

interface Outcome<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

function attempt<T>(act: () => T, outcome: Outcome<T>): void {
  let value: T
  try {
    value = act()
  } catch (error) {
    return outcome.reject(error)
  }
  outcome.resolve(value)
}

function checkReplaceable(moved: File | Folder, old: File | Folder | undefined, to: string): void {
  if (old === undefined || (old instanceof File && moved instanceof File)) return
  if (old instanceof File) throw systemError('ENOTDIR', `not a folder: ${to}`)
  if (moved instanceof File) throw systemError('EISDIR', `is a folder: ${to}`)
  if (old.entries.size > 0) throw systemError('ENOTEMPTY', `folder is not empty: ${to}`)
}
