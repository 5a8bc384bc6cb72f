/**
 * The disk of one host: a tree in memory that tracks which content would survive a crash. By default it is sound:
 * what was synced stays as it was written.
 *
 * Effects of a crash: each write to a file since its last sync is kept completely, lost, or kept in part,
 * independently of the others, so that later writes may be there without earlier ones. A part is all bytes up to a
 * random one, or any of the sectors, of which the last may be garbage. Bytes that were synced are not affected,
 * unless they were written again; the kernel also writes the oldest of many changes by itself. A truncation may be
 * undone unless it was followed by a sync. A new file that was never synced may be missing. Atomic writes, renames,
 * links, removals and new folders are durable once they have returned, as on a journaling file system with synced
 * folders; a renamed file can still be torn inside. After a failed sync what it should have made durable may be lost
 * regardless of later syncs, as in Linux.
 *
 * A disk that lies (see `DiskFaults`) stores a write with a flipped bit, not at all, or in a sector of its own or of
 * another file where it does not belong. A write that is not stored may still have extended its file, with zeros. The
 * program sees its own bytes until they are synced, and then what is stored, as if the page cache had dropped them. A
 * read fails, returns a flipped bit once, or finds a bit that has flipped for ever. Files at rest rot (`rot`) and are
 * damaged (`damage`): cut, zeroed, deleted, swapped, replaced by an older copy. Names and modes have no faults.
 */
import { posix } from 'node:path'
import { assert } from '#/base/assert.ts'
import type { Random } from '../platform.ts'
import {
  cutContent,
  flipBit,
  lostWrite,
  misdirectedWrite,
  zeroSector,
  type RandomSource,
} from './corruption.ts'
import {
  faultless,
  unlimitedBytes,
  type DiskControl,
  type DiskFaults,
  type DiskOperation,
  type FileDamage,
} from './disk-faults.ts'
import { File } from './file.ts'
import type { FileWrite } from './file-content.ts'
import { chance } from './labelled-random.ts'
import type { Tearing } from './torn-write.ts'
import { systemError, type World } from './world.ts'

export interface Folder {
  readonly entries: Map<string, Folder | File>
  /** Names of new files, which a crash may remove. */
  readonly unsyncedNames: Set<string>
  readonly mode: number
  modifiedMs: number
}

export class Disk implements DiskControl {
  readonly #world: World
  readonly #host: string
  #faults: DiskFaults
  readonly #root: Folder = emptyFolder({ mode: 0o755, modifiedMs: 0 })
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
    // A set, since a file may have several names.
    for (const file of new Set(this.#files(this.#root, '').map(([, file]) => file))) bytes += file.sizeBytes
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
    const rate = operation === 'read' ? this.#faults.readErrorRate : this.#faults.errorRate
    const strikes = chance(this.random, this.label(`${operation} error`), rate)
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

  /** The bytes are not copied and must not change. */
  write(file: File, { path, positionBytes, bytes }: WritePlace): void {
    const given: FileWrite = { type: 'write', positionBytes, bytes }
    const fault = bytes.length === 0 ? undefined : this.#drawWriteFault()
    if (fault === undefined) return file.change(given)
    this.#record(`${fault} ${bytes.length} bytes at ${positionBytes} of ${path}`)
    if (fault === 'flips a bit of') return file.change(given, flippedWrite(given, this.#source('write flip')))
    file.change(given, lostWrite(given, this.#source('lost write')))
    if (fault === 'misdirects') this.#misdirect(file, given)
  }

  read(file: File, { path, positionBytes = 0, lengthBytes = file.sizeBytes }: ReadPlace): Uint8Array {
    const error = this.dueError('read')
    if (error !== undefined) throw error
    const { readFlipRate, readRotRate } = this.#faults
    if (chance(this.random, this.label('read rot'), readRotRate)) {
      this.#rot(file, { path, positionBytes, lengthBytes })
    }
    const bytes = file.read(positionBytes, lengthBytes)
    if (bytes.length > 0 && chance(this.random, this.label('read flip'), readFlipRate)) {
      const { change, what } = flipBit({ positionBytes, bytes }, this.#source('read flip'))
      bytes.set(change.bytes, change.positionBytes - positionBytes)
      this.#record(`returns ${path} with ${what}`)
    }
    return bytes
  }

  durableContent(path: string): Uint8Array {
    return this.file(path).durableContent
  }

  rot(path?: string): string | undefined {
    const files = [...this.#files(this.#root, '')].filter(([where, file]) => {
      return file.durableSizeBytes > 0 && (path === undefined || where === posix.normalize(path))
    })
    if (files.length === 0) return undefined
    const [where, file] = files[this.random.integer(this.label('rotten file'), files.length)]!
    return this.#rot(file, { path: where })
  }

  damage(path: string, damage: FileDamage): string {
    const what = `${path}: ${this.#damage(path, damage)}`
    this.#record(`damage of ${what}`)
    return what
  }

  /** How unsynced changes are torn. */
  tearing(): Tearing {
    return { ...this.#source('tear'), garbageRate: this.#faults.garbageRate }
  }

  /** Simulates a power failure. */
  crash(): void {
    this.#loseNames(this.#root, '')
    // A file with several names is torn once.
    const torn = new Set<File>()
    for (const [where, file] of this.#files(this.#root, '')) {
      if (torn.has(file)) continue
      torn.add(file)
      const damage = file.crash(this.tearing())
      if (damage !== undefined) this.#record(`tore ${where}: ${damage}`)
    }
  }

  #drawWriteFault(): WriteFault | undefined {
    const { writeFlipRate, lostWriteRate, misdirectedWriteRate } = this.#faults
    if (chance(this.random, this.label('write flip'), writeFlipRate)) return 'flips a bit of'
    if (chance(this.random, this.label('lost write'), lostWriteRate)) return 'loses'
    return chance(this.random, this.label('misdirected write'), misdirectedWriteRate)
      ? 'misdirects'
      : undefined
  }

  /** Stores the write in a wrong sector of its own or of another file, if there is one. */
  #misdirect(file: File, given: FileWrite): void {
    const source = this.#source('misdirected write')
    const others = [...this.#files(this.#root, '')].filter(([, other]) => other !== file)
    const own: [string, File] = ['the same file', file]
    const other =
      others.length === 0 ? own : others[this.random.integer(`${source.label} file`, others.length)]!
    const candidates = chance(this.random, `${source.label} own`, 0.5) ? [own, other] : [other, own]
    for (const [where, target] of candidates) {
      const sizeBytes = target.durableSizeBytes
      const landed = misdirectedWrite(given, { ...source, sizeBytes, isSameFile: target === file })
      if (landed === undefined) continue
      target.damage(landed)
      return this.#record(`stores them at ${landed.positionBytes} of ${where}`)
    }
  }

  /** Flips a bit of the durable content. */
  #rot(file: File, { path, positionBytes = 0, lengthBytes }: ReadPlace): string | undefined {
    const endBytes = lengthBytes === undefined ? undefined : positionBytes + lengthBytes
    const bytes = file.durableContent.subarray(positionBytes, endBytes)
    if (bytes.length === 0) return undefined
    const { change, what } = flipBit({ positionBytes, bytes }, this.#source('rot'))
    file.damage(change)
    this.#record(`rot of ${path}: ${what}`)
    return `${path}: ${what}`
  }

  #damage(path: string, damage: FileDamage): string {
    const file = this.file(path)
    const { folder, name } = this.parent(path)
    if (damage === 'delete') {
      folder.entries.delete(name)
      folder.unsyncedNames.delete(name)
      return 'deleted'
    }
    if (typeof damage === 'string') {
      const content = file.durableContent
      assert(content.length > 0, `cannot damage ${path}: it has no durable content`)
      const { change, what } = corrupt[damage](content, this.#source('damage'))
      file.damage(change)
      return what
    }
    if ('swapWith' in damage) {
      const other = this.parent(damage.swapWith)
      folder.entries.set(name, this.file(damage.swapWith))
      other.folder.entries.set(other.name, file)
      return `swapped with ${damage.swapWith}`
    }
    file.damage({ type: 'truncate', sizeBytes: 0 })
    file.damage({ type: 'write', positionBytes: 0, bytes: damage.replaceBy })
    return `replaced by ${damage.replaceBy.length} bytes`
  }

  #source(what: string): RandomSource {
    return { random: this.random, label: this.label(what) }
  }

  #record(what: string): void {
    this.#world.trace.record(this.#host, `disk ${what}`)
  }

  #loseNames(folder: Folder, prefix: string): void {
    for (const name of folder.unsyncedNames) {
      if (!chance(this.random, this.label('lost name'), 0.5)) continue
      folder.entries.delete(name)
      this.#record(`lost ${prefix}/${name}`)
    }
    folder.unsyncedNames.clear()
    for (const [name, entry] of folder.entries) {
      if (!(entry instanceof File)) this.#loseNames(entry, `${prefix}/${name}`)
    }
  }

  /** All files with their paths; a file with several names several times. */
  *#files(folder: Folder, prefix: string): Generator<[where: string, file: File]> {
    for (const [name, entry] of folder.entries) {
      const where = `${prefix}/${name}`
      if (entry instanceof File) yield [where, entry]
      else yield* this.#files(entry, where)
    }
  }
}

/** As a verb, for the trace. */
type WriteFault = 'flips a bit of' | 'loses' | 'misdirects'

/** The part of a file that is written. */
interface WritePlace {
  readonly path: string
  readonly positionBytes: number
  readonly bytes: Uint8Array
}

/** The part of a file that is read; by default all of it. */
interface ReadPlace {
  readonly path: string
  readonly positionBytes?: number
  readonly lengthBytes?: number
}

const corrupt = {
  'flip-bit': (bytes: Uint8Array, source: RandomSource) => flipBit({ positionBytes: 0, bytes }, source),
  'zero-sector': zeroSector,
  'truncate': cutContent,
}

function flippedWrite(given: FileWrite, source: RandomSource): FileWrite {
  const bytes = Uint8Array.from(given.bytes)
  const { change } = flipBit(given, source)
  bytes.set(change.bytes, change.positionBytes - given.positionBytes)
  return { ...given, bytes }
}

export function emptyFolder(options: { mode: number; modifiedMs: number }): Folder {
  return { entries: new Map(), unsyncedNames: new Set(), ...options }
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
