/**
 * The part of a change that was not synced which reaches the disk when the power fails. Sectors are those of the
 * file, not of the change.
 */
import type { RandomSource } from './corruption.ts'
import { sectorBytes, type FileChange, type FileWrite } from './file-content.ts'
import { chance } from './labelled-random.ts'

export interface Tearing extends RandomSource {
  /** Rate of torn writes with zeros or random bytes in the last sector that was written. */
  readonly garbageRate: number
}

export interface TornChange {
  readonly extent: 'all' | 'none' | 'part'
  readonly survivors: readonly FileChange[]
}

/** All, nothing, all up to some byte, or some sectors, each with a fair chance. Other changes are atomic. */
export function tearChange(change: FileChange, tearing: Tearing): TornChange {
  const { random, label } = tearing
  const all: TornChange = { extent: 'all', survivors: [change] }
  const none: TornChange = { extent: 'none', survivors: [] }
  if (change.type !== 'write') return chance(random, `${label} ${change.type}`, 0.5) ? all : none
  switch (random.integer(`${label} kind`, 4)) {
    case 0:
      return none
    case 1:
      return all
    case 2:
      return tornPrefix(change, tearing)
    default:
      return tornSectors(change, tearing)
  }
}

function tornPrefix(change: FileWrite, tearing: Tearing): TornChange {
  const keptBytes = tearing.random.integer(`${tearing.label} size`, change.bytes.length + 1)
  const kept = sectorsOf({ ...change, bytes: change.bytes.subarray(0, keptBytes) })
  return { extent: 'part', survivors: withGarbage(kept, tearing) }
}

/** The file has the new size, as its inode is written separately: lost sectors keep the old bytes or are zeros. */
function tornSectors(change: FileWrite, tearing: Tearing): TornChange {
  const { random, label } = tearing
  const kept = sectorsOf(change).filter(() => chance(random, `${label} sector`, 0.5))
  const sizeBytes = change.positionBytes + change.bytes.length
  return { extent: 'part', survivors: [{ type: 'extend', sizeBytes }, ...withGarbage(kept, tearing)] }
}

function sectorsOf({ positionBytes, bytes }: FileWrite): FileWrite[] {
  const sectors: FileWrite[] = []
  for (let done = 0; done < bytes.length;) {
    const length = sectorBytes - ((positionBytes + done) % sectorBytes)
    const sector = bytes.subarray(done, done + length)
    sectors.push({ type: 'write', positionBytes: positionBytes + done, bytes: sector })
    done += sector.length
  }
  return sectors
}

function withGarbage(sectors: readonly FileWrite[], tearing: Tearing): FileWrite[] {
  const { random, label, garbageRate } = tearing
  const last = sectors.at(-1)
  if (last === undefined || !chance(random, `${label} garbage`, garbageRate)) return [...sectors]
  const { length } = last.bytes
  const zeros = chance(random, `${label} zeros`, 0.5)
  const bytes = zeros ? new Uint8Array(length) : random.bytes(`${label} garbage bytes`, length)
  return [...sectors.slice(0, -1), { ...last, bytes }]
}
