/** Damage of the files of a store: drawn from a seed, and done to the files. */
import { randomBytes } from 'node:crypto'
import { copyFile, open, readFile, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { SeededRandom } from '#/base/seeded-random.ts'
import { shuffle } from '../../faults.ts'

export interface DamageableFile {
  /** Relative to the folder of the cluster. */
  readonly name: string
  /** Without the zeros at its end, which are reserved space. */
  readonly usedBytes: number
  /** True if there is a copy of an earlier time. */
  readonly hasOlderCopy: boolean
}

export type FileDamage = { readonly name: string } & (
  | { readonly type: 'flip-bit'; readonly positionBytes: number; readonly bit: number }
  | { readonly type: 'zero'; readonly positionBytes: number; readonly sizeBytes: number }
  | { readonly type: 'truncate'; readonly sizeBytes: number }
  | { readonly type: 'append'; readonly sizeBytes: number }
  | { readonly type: 'delete' }
  | { readonly type: 'roll-back' }
  | { readonly type: 'swap'; readonly otherName: string }
)

/**
 * One damage, or two. Three could be a lost end of the log and the loss of both marks that tell of it, which no store
 * can recognize; a swap counts as two.
 */
export function planDamages(files: readonly DamageableFile[], random: SeededRandom): FileDamage[] {
  const drawn = drawFiles(files, random)
  const [file, other] = drawn
  if (file === undefined) return []
  if (other === undefined) return [planDamage(file, random)]
  if (random.integer(swapEvery) === 0) return [{ type: 'swap', name: file.name, otherName: other.name }]
  const count = random.integer(3) === 0 ? 2 : 1
  return drawn.slice(0, count).map(each => planDamage(each, random))
}

const swapEvery = 10

/** Half of all damage begins with the log: most other files are marks, of which one is enough. */
function drawFiles(files: readonly DamageableFile[], random: SeededRandom): DamageableFile[] {
  const shuffled = shuffle(files, random)
  if (random.integer(2) === 0) return shuffled
  const segment = shuffled.find(({ name }) => name.endsWith('.log'))
  return segment === undefined ? shuffled : [segment, ...shuffled.filter(file => file !== segment)]
}

function planDamage({ name, usedBytes, hasOlderCopy }: DamageableFile, random: SeededRandom): FileDamage {
  const types = ['flip-bit', 'flip-bit', 'zero', 'truncate', 'append', 'delete', 'roll-back'] as const
  const type = types[random.integer(types.length)]!
  switch (type) {
    case 'flip-bit':
      return { type, name, positionBytes: drawPosition(usedBytes, random), bit: random.integer(8) }
    case 'zero':
      return { type, name, positionBytes: drawPosition(usedBytes, random), sizeBytes: drawSize(random) }
    case 'truncate':
      return { type, name, sizeBytes: drawPosition(usedBytes, random) }
    case 'append':
      return { type, name, sizeBytes: drawSize(random) }
    case 'delete':
      return { type, name }
    case 'roll-back':
      return { type: hasOlderCopy ? type : 'delete', name }
  }
}

/** Anywhere, or near the end, where the last writes are. */
function drawPosition(usedBytes: number, random: SeededRandom): number {
  const lastBytes = lastPartsBytes[random.integer(lastPartsBytes.length)]!
  const fromBytes = Math.max(0, usedBytes - lastBytes)
  return fromBytes + random.integer(Math.max(1, usedBytes - fromBytes))
}

const lastPartsBytes = [Infinity, 100_000, 4_000, 100]

/** A few bytes, or pages of a disk. */
function drawSize(random: SeededRandom): number {
  return 1 + random.integer(random.integer(2) === 0 ? 64 : 16_384)
}

export function describeDamages(damages: readonly FileDamage[]): string {
  return damages.map(({ type, name, ...rest }) => [type, name, ...Object.values(rest)].join(' ')).join(', ')
}

export interface DamagedFolders {
  readonly folder: string
  /** Copies of an earlier time, with the same names. */
  readonly olderFolder: string
}

export async function damageFile(damage: FileDamage, { folder, olderFolder }: DamagedFolders): Promise<void> {
  const path = join(folder, damage.name)
  switch (damage.type) {
    case 'flip-bit': {
      const byte = (await readFile(path))[damage.positionBytes] ?? 0
      await overwrite(path, damage.positionBytes, Uint8Array.of(byte ^ (1 << damage.bit)))
      break
    }
    case 'zero':
      await overwrite(path, damage.positionBytes, new Uint8Array(damage.sizeBytes))
      break
    case 'truncate':
      await truncate(path, damage.sizeBytes)
      break
    case 'append': {
      await using file = await open(path, 'a')
      await file.write(randomBytes(damage.sizeBytes))
      break
    }
    case 'delete':
      await rm(path)
      break
    case 'roll-back':
      await copyFile(join(olderFolder, damage.name), path)
      break
    case 'swap': {
      const other = join(folder, damage.otherName)
      const aside = `${path}.swapped`
      await rename(path, aside)
      await rename(other, path)
      await rename(aside, other)
      break
    }
  }
}

async function overwrite(path: string, positionBytes: number, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, 'r+')
  await file.write(bytes, 0, bytes.length, positionBytes)
}
