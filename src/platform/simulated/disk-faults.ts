/** Faults of a simulated disk, and their control by a test. */

/** Rates are probabilities from 0 to 1. */
export interface DiskFaults {
  /** Duration of every operation except sync. */
  readonly accessMs: number
  readonly syncMinMs: number
  readonly syncMaxMs: number
  /** Rate of syncs that take `stallMs` longer. */
  readonly stallRate: number
  readonly stallMs: number
  /** Rate of writes and syncs that fail with EIO. */
  readonly errorRate: number
  /** Rate of reads that fail with EIO. */
  readonly readErrorRate: number
  /** Rate of torn writes with garbage in the last surviving sector. */
  readonly garbageRate: number
  /** Rate of writes that are stored with one bit flipped. */
  readonly writeFlipRate: number
  /** Rate of writes that are acknowledged and synced, but never stored. */
  readonly lostWriteRate: number
  /** Rate of writes that are stored over other bytes, of the same file or of another one. */
  readonly misdirectedWriteRate: number
  /** Rate of reads that return one bit flipped, once. */
  readonly readFlipRate: number
  /** Rate of reads that find one bit flipped for ever. */
  readonly readRotRate: number
  /** Writes that would exceed it fail with ENOSPC. */
  readonly capacityBytes: number
  /** Syncs return without making anything durable. For proving that a test would detect it. */
  readonly ignoresSync: boolean
}

/** No capacity limit; usage is not computed. */
export const unlimitedBytes = Number.MAX_SAFE_INTEGER

/** A sound disk, which only does what a crash may do to any disk. */
export const faultless: DiskFaults = {
  accessMs: 0.01,
  syncMinMs: 0.5,
  syncMaxMs: 2,
  stallRate: 0,
  stallMs: 5_000,
  errorRate: 0,
  readErrorRate: 0,
  garbageRate: 0.3,
  writeFlipRate: 0,
  lostWriteRate: 0,
  misdirectedWriteRate: 0,
  readFlipRate: 0,
  readRotRate: 0,
  capacityBytes: unlimitedBytes,
  ignoresSync: false,
}

/** `write` replaces a file atomically; `write-at` is a step of a file writer. */
export type DiskOperation =
  | 'read'
  | 'write'
  | 'append'
  | 'write-at'
  | 'sync'
  | 'truncate'
  | 'link'
  | 'rename'
  | 'remove'
  | 'make-folder'

/** Fault injection into a disk. */
export interface DiskControl {
  readonly faults: DiskFaults
  readonly usedBytes: number
  /** Changes these faults from now on and keeps the rest. */
  setFaults(faults: Partial<DiskFaults>): void
  /** The next operation of this kind fails with this error. */
  failNext(operation: DiskOperation, code: 'EIO' | 'ENOSPC'): void
  /** The content that is sure to survive a crash. */
  durableContent(path: string): Uint8Array
  /** Flips one bit of the durable content of this or of any file. Describes it, unless there is no content. */
  rot(path?: string): string | undefined
  /** Damages a file at rest. Returns a description. */
  damage(path: string, damage: FileDamage): string
}

/** The bit, the sector and the size are drawn from the seed; the file must not be empty. */
export type FileDamage =
  | 'flip-bit'
  | 'zero-sector'
  | 'truncate'
  | 'delete'
  | { readonly swapWith: string }
  /** E.g. by an older `durableContent`. */
  | { readonly replaceBy: Uint8Array }
