/**
 * The disk of one host: a tree in memory that tracks which content would survive a crash.
 *
 * Effects of a crash: bytes appended since the last sync of a file are kept completely, lost, or kept up to a
 * random byte, and the last sector of the kept part may be garbage. A truncation may be undone unless it was
 * followed by a sync. A file that was opened for appending and never synced may be missing. Atomic writes,
 * renames, removals and new folders are durable once they have returned, as on a journaling file system with
 * synced folders; a renamed file can still be torn inside. A failed sync leaves the file unsafe forever,
 * regardless of later syncs, as in Linux.
 */
import { posix } from 'node:path'
import type { Random } from '../platform.ts'
import { chance } from './labelled-random.ts'
import { File } from './file.ts'
import { systemError, type World } from './world.ts'

/** Rates are probabilities from 0 to 1. */
export interface DiskFaults {
  /** Duration of every operation except sync. */
  readonly accessMs: number
  readonly syncMinMs: number
  readonly syncMaxMs: number
  /** Rate of writes and syncs that fail with EIO. */
  readonly errorRate: number
  /** Rate of torn files with garbage in the last surviving sector. */
  readonly garbageRate: number
  /** Writes that would exceed it fail with ENOSPC. */
  readonly capacityBytes: number
  /** Syncs return without making anything durable. For proving that a test would detect it. */
  readonly ignoresSync: boolean
}

/** No capacity limit; usage is not computed. */
const unlimitedBytes = Number.MAX_SAFE_INTEGER

const faultless: DiskFaults = {
  accessMs: 0.01,
  syncMinMs: 0.5,
  syncMaxMs: 2,
  errorRate: 0,
  garbageRate: 0.3,
  capacityBytes: unlimitedBytes,
  ignoresSync: false,
}

export type DiskOperation = 'write' | 'append' | 'sync' | 'truncate' | 'rename' | 'remove' | 'make-folder'

/** Fault injection into a disk. */
export interface DiskControl {
  readonly faults: DiskFaults
  readonly usedBytes: number
  /** Changes these faults from now on and keeps the rest. */
  setFaults(faults: Partial<DiskFaults>): void
  /** The next operation of this kind fails with this error. */
  failNext(operation: DiskOperation, code: 'EIO' | 'ENOSPC'): void
}

export interface Folder {
  readonly entries: Map<string, Folder | File>
  readonly mode: number
  modifiedMs: number
}

export class Disk implements DiskControl {
  readonly #world: World
  readonly #host: string
  #faults: DiskFaults
  readonly #root: Folder = { entries: new Map(), mode: 0o755, modifiedMs: 0 }
  readonly #failures: { readonly operation: DiskOperation; readonly code: string }[] = []

  constructor(options: { world: World; host: string; faults: Partial<DiskFaults> }) {
    this.#world = options.world
    this.#host = options.host
    this.#faults = { ...faultless, ...options.faults }
  }

  get faults(): DiskFaults {
    return this.#faults
  }

  get usedBytes(): number {
    let bytes = 0
    for (const file of this.#files(this.#root)) bytes += file.sizeBytes
    return bytes
  }

  get random(): Random {
    return this.#world.random
  }

  setFaults(faults: Partial<DiskFaults>): void {
    this.#faults = { ...this.#faults, ...faults }
  }

  failNext(operation: DiskOperation, code: 'EIO' | 'ENOSPC'): void {
    this.#failures.push({ operation, code })
  }

  /** The error of a fault injected into this operation, if any. */
  dueError(operation: DiskOperation): Error | undefined {
    const index = this.#failures.findIndex(failure => failure.operation === operation)
    const [failure] = index < 0 ? [] : this.#failures.splice(index, 1)
    if (failure !== undefined) return systemError(failure.code, `injected into ${operation}`)
    const strikes = chance(this.random, this.label(`${operation} error`), this.#faults.errorRate)
    return strikes ? systemError('EIO', operation) : undefined
  }

  /** Remaining bytes. */
  get roomBytes(): number {
    const { capacityBytes } = this.#faults
    return capacityBytes === unlimitedBytes ? unlimitedBytes : Math.max(0, capacityBytes - this.usedBytes)
  }

  checkRoom(moreBytes: number): void {
    if (moreBytes > this.roomBytes) throw systemError('ENOSPC', 'no space left on device')
  }

  /** Random label of this disk. */
  label(what: string): string {
    return `disk/${this.#host}/${what}`
  }

  /** The file or folder at the path, if any. */
  find(where: string): Folder | File | undefined {
    let found: Folder | File | undefined = this.#root
    for (const name of segments(where)) {
      if (found instanceof File) return undefined
      found = found?.entries.get(name)
    }
    return found
  }

  file(where: string): File {
    const found = this.find(where)
    if (found === undefined) throw systemError('ENOENT', `no such file: ${where}`)
    if (!(found instanceof File)) throw systemError('EISDIR', `is a folder: ${where}`)
    return found
  }

  folder(where: string): Folder {
    const found = this.find(where)
    if (found === undefined) throw systemError('ENOENT', `no such folder: ${where}`)
    if (found instanceof File) throw systemError('ENOTDIR', `not a folder: ${where}`)
    return found
  }

  /** The parent folder of the path, which itself need not exist, and the name in it. */
  parent(where: string): { folder: Folder; name: string } {
    const name = segments(where).at(-1)
    if (name === undefined) throw systemError('EBUSY', 'cannot change the root folder')
    return { folder: this.folder(posix.dirname(posix.normalize(where))), name }
  }

  /** Simulates a power failure. */
  crash(): void {
    this.#tear(this.#root, '')
  }

  #tear(folder: Folder, prefix: string): void {
    for (const [name, entry] of folder.entries) {
      const where = `${prefix}/${name}`
      if (!(entry instanceof File)) {
        this.#tear(entry, where)
      } else if (!entry.isNameSafe && chance(this.random, this.label('lost name'), 0.5)) {
        folder.entries.delete(name)
        this.#world.trace.record(this.#host, `disk lost ${where}`)
      } else {
        const { garbageRate } = this.#faults
        const torn = entry.tear(this.random, { label: this.label('tear'), garbageRate })
        if (torn !== undefined) this.#world.trace.record(this.#host, `disk tore ${where}: ${torn}`)
      }
    }
  }

  *#files(folder: Folder): Generator<File> {
    for (const entry of folder.entries.values()) {
      if (entry instanceof File) yield entry
      else yield* this.#files(entry)
    }
  }
}

/** The components of the path, from the root. */
export function segments(where: string): string[] {
  const isAbsolute = where.startsWith('/') && !where.includes('\0')
  if (!isAbsolute) throw systemError('EINVAL', `not an absolute path: ${where}`)
  return posix
    .normalize(where)
    .split('/')
    .filter(name => name !== '')
}
