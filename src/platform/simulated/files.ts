/** The files of one life: the host's disk with latency and errors. */
import { posix } from 'node:path'
import type { AppendFile, Files, FileStatus } from '../platform.ts'
import { segments, type Disk, type DiskOperation, type Folder } from './disk.ts'
import { File } from './file.ts'
import { between, chance } from './labelled-random.ts'
import type { Life } from './life.ts'
import { never, systemError, type World } from './world.ts'

const fileMode = 0o644
const folderMode = 0o755

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
    return this.#look(() => this.#disk.file(path).read())
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
      return { sizeBytes: isFolder ? 0 : found.sizeBytes, isFolder, modifiedMs, mode }
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
      folder.entries.set(name, File.safe(bytes, { mode, modifiedMs: this.#touch(folder) }))
    })
  }

  async openAppend(path: string, options?: { readonly mode?: number }): Promise<AppendFile> {
    const file = await this.#look(() => {
      const found = this.#disk.find(path)
      if (found instanceof File) return found
      if (found !== undefined) throw systemError('EISDIR', `is a folder: ${path}`)
      const { folder, name } = this.#disk.parent(path)
      const created = File.empty({ mode: options?.mode ?? fileMode, modifiedMs: this.#touch(folder) })
      folder.entries.set(name, created)
      return created
    })
    return new SimulatedAppendFile(this.#life, {
      append: bytes => this.#append(path, file, bytes),
      sync: () => this.#sync(path, file),
    })
  }

  truncate(path: string, sizeBytes: number): Promise<void> {
    return this.#change({ operation: 'truncate', what: `${path} ${sizeBytes}` }, () => {
      const isSize = Number.isSafeInteger(sizeBytes) && sizeBytes >= 0
      if (!isSize) throw systemError('EINVAL', `not a size: ${sizeBytes}`)
      const file = this.#disk.file(path)
      this.#disk.checkRoom(sizeBytes - file.sizeBytes)
      file.truncate(sizeBytes)
      this.#touch(file)
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
      if (moved instanceof File) moved.isNameSafe = true
      this.#touch(source.folder)
      this.#touch(target.folder)
    })
  }

  remove(path: string): Promise<void> {
    return this.#change({ operation: 'remove', what: path }, () => {
      if (this.#disk.find(path) === undefined) return
      const { folder, name } = this.#disk.parent(path)
      folder.entries.delete(name)
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
        const made = next ?? { entries: new Map(), mode, modifiedMs: this.#touch(folder) }
        folder.entries.set(name, made)
        folder = made
      }
    })
  }

  #append(path: string, file: File, bytes: Uint8Array): Promise<void> {
    const failed = (): void => {
      // A failing append still writes a random part.
      const written = this.#disk.random.integer(this.#disk.label('short write'), bytes.length + 1)
      file.append(bytes.subarray(0, written))
    }
    return this.#change({ operation: 'append', what: `${path} ${bytes.length}`, failed }, () => {
      const room = this.#disk.roomBytes
      file.append(bytes.subarray(0, room))
      this.#touch(file)
      this.#disk.checkRoom(bytes.length - Math.min(bytes.length, room))
    })
  }

  #sync(path: string, file: File): Promise<void> {
    const began = file.beginSync()
    const failed = (): void => file.failSync()
    return this.#change({ operation: 'sync', what: path, durationMs: this.#syncMs(), failed }, () => {
      if (!this.#disk.faults.ignoresSync) file.sync(began)
    })
  }

  /** A read operation: takes time and cannot fail by fault injection. */
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
    const { syncMinMs, syncMaxMs } = this.#disk.faults
    return between(this.#disk.random, this.#disk.label('sync'), { min: syncMinMs, max: syncMaxMs })
  }

  /** Sets the modification time to now. */
  #touch(changed: { modifiedMs: number }): number {
    changed.modifiedMs = this.#nowMs()
    return changed.modifiedMs
  }
}

/** Appends in call order; after a failure every call fails with the same error, as on a real platform. */
class SimulatedAppendFile implements AppendFile {
  readonly #life: Life
  readonly #actions: Pick<AppendFile, 'append' | 'sync'>
  /** Settles when all calls so far are done; stays rejected after a failure. */
  #last: Promise<void> = Promise.resolve()

  constructor(life: Life, actions: Pick<AppendFile, 'append' | 'sync'>) {
    this.#life = life
    this.#actions = actions
  }

  append(bytes: Uint8Array): Promise<void> {
    const copy = Uint8Array.from(bytes)
    return this.#after(() => this.#actions.append(copy))
  }

  sync(): Promise<void> {
    return this.#after(() => this.#actions.sync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#life.ended) return never()
    const last = this.#last
    this.#last = last.then(() => Promise.reject(systemError('EBADF', 'the file is closed')))
    this.#last.catch(() => undefined)
    await last.catch(() => undefined)
  }

  #after(operation: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(operation)
    // The caller gets the error; this avoids an unhandled rejection of the chain.
    this.#last.catch(() => undefined)
    return this.#last
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
