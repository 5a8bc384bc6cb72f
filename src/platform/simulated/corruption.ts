/** Damage to the bytes of files: what a faulty disk stores in place of a write, and what happens to it at rest. */
import type { Random } from '../platform.ts'
import { sectorBytes, type FileChange, type FileWrite } from './file-content.ts'
import { chance } from './labelled-random.ts'

/** Where random numbers come from. */
export interface RandomSource {
  readonly random: Random
  /** Prefix of the labels. */
  readonly label: string
}

/** A change and its description, for the trace and for messages of tests. */
export interface Corruption<Change extends FileChange = FileChange> {
  readonly change: Change
  readonly what: string
}

/** The size is kept or not, as an inode is written separately from the content of its file. */
export function lostWrite(write: FileWrite, { random, label }: RandomSource): FileChange {
  const isSizeStored = chance(random, `${label} size`, 0.5)
  return { type: 'extend', sizeBytes: isSizeStored ? write.positionBytes + write.bytes.length : 0 }
}

/**
 * Where a write lands that went to the wrong sector: at the same offset in another sector, without extending the file.
 * Undefined if the file has no other sector.
 */
export function misdirectedWrite(write: FileWrite, target: MisdirectionTarget): FileWrite | undefined {
  const { sizeBytes, isSameFile, random, label } = target
  const offset = write.positionBytes % sectorBytes
  const sectors = Math.ceil((sizeBytes - offset) / sectorBytes)
  const intended = isSameFile ? Math.floor(write.positionBytes / sectorBytes) : sectors
  const others = intended < sectors ? sectors - 1 : sectors
  if (others < 1) return undefined
  const drawn = random.integer(`${label} sector`, others)
  const positionBytes = (drawn < intended ? drawn : drawn + 1) * sectorBytes + offset
  return { type: 'write', positionBytes, bytes: write.bytes.subarray(0, sizeBytes - positionBytes) }
}

interface MisdirectionTarget extends RandomSource {
  readonly sizeBytes: number
  readonly isSameFile: boolean
}

/** Flips one bit of these bytes, which begin at this position of the file. */
export function flipBit(
  { positionBytes, bytes }: Omit<FileWrite, 'type'>,
  { random, label }: RandomSource,
): Corruption<FileWrite> {
  const index = random.integer(`${label} byte`, bytes.length)
  const bit = random.integer(`${label} bit`, 8)
  const flipped = Uint8Array.of((bytes[index] ?? 0) ^ (1 << bit))
  const position = positionBytes + index
  const change = { type: 'write', positionBytes: position, bytes: flipped } as const
  return { change, what: `bit ${bit} of byte ${position} flipped` }
}

export function zeroSector(content: Uint8Array, { random, label }: RandomSource): Corruption {
  const sector = random.integer(`${label} sector`, Math.ceil(content.length / sectorBytes))
  const positionBytes = sector * sectorBytes
  const bytes = new Uint8Array(Math.min(sectorBytes, content.length - positionBytes))
  return {
    change: { type: 'write', positionBytes, bytes },
    what: `${bytes.length} bytes at ${positionBytes} zeroed`,
  }
}

export function cutContent(content: Uint8Array, { random, label }: RandomSource): Corruption {
  const sizeBytes = random.integer(`${label} size`, content.length)
  return { change: { type: 'truncate', sizeBytes }, what: `cut from ${content.length} to ${sizeBytes} bytes` }
}
