/**
 * One file of a simulated disk: the content that programs see, and which part of it would survive a crash.
 */
import type { Random } from '../platform.ts'
import { chance } from './labelled-random.ts'

/** Unit of disk writes. */
const sectorBytes = 512

export class File {
  readonly mode: number
  modifiedMs: number
  /** The first `#sizeBytes` are the content; the rest is spare capacity. */
  #buffer: Uint8Array
  #sizeBytes: number
  /** Length of the prefix that survives a crash, unless `#beforeCut` is set. */
  #safeBytes: number
  /** The durable content from before a truncation that is not durable yet. */
  #beforeCut: Uint8Array | undefined
  #syncFailed = false
  /** True if the directory entry survives a crash. */
  isNameSafe: boolean

  /** A file with durable content, as after an atomic write. */
  static safe(content: Uint8Array, options: FileOptions): File {
    return new File(Uint8Array.from(content), { ...options, isNameSafe: true })
  }

  /** An empty file that becomes durable only by a sync. */
  static empty(options: FileOptions): File {
    return new File(new Uint8Array(0), { ...options, isNameSafe: false })
  }

  private constructor(content: Uint8Array, options: FileOptions & { readonly isNameSafe: boolean }) {
    this.#buffer = content
    this.#sizeBytes = content.length
    this.#safeBytes = content.length
    this.mode = options.mode
    this.modifiedMs = options.modifiedMs
    this.isNameSafe = options.isNameSafe
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  read(): Uint8Array {
    return this.#buffer.slice(0, this.#sizeBytes)
  }

  append(bytes: Uint8Array): void {
    const size = this.#sizeBytes + bytes.length
    if (size > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(size, 2 * this.#buffer.length, sectorBytes))
      grown.set(this.#buffer.subarray(0, this.#sizeBytes))
      this.#buffer = grown
    }
    this.#buffer.set(bytes, this.#sizeBytes)
    this.#sizeBytes = size
  }

  truncate(sizeBytes: number): void {
    if (sizeBytes > this.#sizeBytes) return this.append(new Uint8Array(sizeBytes - this.#sizeBytes))
    if (sizeBytes < this.#safeBytes) {
      this.#beforeCut ??= this.#buffer.slice(0, this.#safeBytes)
      this.#safeBytes = sizeBytes
    }
    this.#sizeBytes = sizeBytes
  }

  /** Makes the content at the start of the sync durable. */
  sync(began: SyncPoint): void {
    this.isNameSafe = true
    if (this.#syncFailed || began.beforeCut !== this.#beforeCut) return
    this.#beforeCut = undefined
    this.#safeBytes = Math.max(this.#safeBytes, Math.min(began.sizeBytes, this.#sizeBytes))
  }

  beginSync(): SyncPoint {
    return { sizeBytes: this.#sizeBytes, beforeCut: this.#beforeCut }
  }

  failSync(): void {
    this.#syncFailed = true
  }

  /** Applies a power failure. Describes the damage, if any. */
  tear(random: Random, options: { label: string; garbageRate: number }): string | undefined {
    const { label, garbageRate } = options
    const { sizeBytes: before } = this
    if (this.#beforeCut !== undefined && chance(random, `${label} truncation`, 0.5)) {
      this.#settle(this.#beforeCut)
      return `truncation to ${before} undone, ${this.#sizeBytes} bytes`
    }
    const unsafe = this.#sizeBytes - this.#safeBytes
    const size = this.#safeBytes + survivingBytes(random, label, unsafe)
    const content = this.#buffer.slice(0, size)
    const garbage = size > this.#safeBytes && chance(random, `${label} garbage`, garbageRate)
    if (garbage) {
      const from = Math.max(this.#safeBytes, Math.floor((size - 1) / sectorBytes) * sectorBytes)
      const zeros = chance(random, `${label} zeros`, 0.5)
      if (zeros) content.fill(0, from)
      else content.set(random.bytes(`${label} garbage bytes`, size - from), from)
    }
    this.#settle(content)
    if (unsafe === 0) return undefined
    return `${unsafe - (before - size)} of ${unsafe} bytes kept${garbage ? ', the last sector garbage' : ''}`
  }

  /** The content left after a crash is durable. */
  #settle(content: Uint8Array): void {
    this.#buffer = content
    this.#sizeBytes = content.length
    this.#safeBytes = content.length
    this.#beforeCut = undefined
    this.#syncFailed = false
    this.isNameSafe = true
  }
}

interface FileOptions {
  readonly mode: number
  readonly modifiedMs: number
}

/** The state of a file at the start of a sync, which the sync makes durable. */
export interface SyncPoint {
  readonly sizeBytes: number
  readonly beforeCut: Uint8Array | undefined
}

/** All, nothing or a part, each with a fair chance. */
function survivingBytes(random: Random, label: string, unsafe: number): number {
  if (unsafe === 0) return 0
  const kind = random.integer(`${label} kind`, 3)
  return kind === 0 ? 0 : kind === 1 ? unsafe : random.integer(`${label} size`, unsafe + 1)
}
