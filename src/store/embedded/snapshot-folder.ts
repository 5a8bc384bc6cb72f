/**
 * A snapshot of a store in use that costs little: a folder with hard links to the sealed segments, a copy of the
 * acknowledged part of the last one, and a mark. It needs no space for what it shares with the store and other
 * snapshots until segments are rewritten.
 */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'
import { encodeMark, markFile, markPaths, readMark, type Mark, type StorePlace } from './mark.ts'
import { decodeHeader, rangeOf } from './segment-header.ts'

/** `path` is on the file system of the store. An interrupted call leaves a folder with the suffix `.partial`. */
export async function linkSnapshot(files: Files, place: StorePlace, path: string): Promise<void> {
  const partial = `${path}.partial`
  try {
    const mark = await linkRepeatedly(files, place, partial)
    await files.write(join(partial, 'mark'), markFile(encodeMark(mark)), { mode: 0o600 })
    await files.rename(partial, path)
  } catch (error) {
    await files.remove(partial)
    throw error
  }
}

async function linkRepeatedly(files: Files, place: StorePlace, target: string): Promise<Mark> {
  for (let attempts = 0; attempts < attemptsMax; attempts++) {
    await files.remove(target)
    await files.makeFolder(target, { mode: 0o700 })
    try {
      const mark = await linkSegments(files, place, target)
      if (mark) return mark
    } catch (error) {
      // A segment was rewritten and removed after it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  throw new Error(`the files in ${place.folder} change too fast to be linked`)
}

const attemptsMax = 5

/** Undefined when the segment of the mark is not among those that were listed: it was begun since. */
async function linkSegments(files: Files, place: StorePlace, target: string): Promise<Mark | undefined> {
  const { folder } = place
  const names = (await files.list(folder)).filter(name => rangeOf(name))
  for (const name of names) await files.link(join(folder, name), join(target, name))
  // Read last, so it covers what is linked.
  const mark = await readMark(files, markPaths(place))
  const last = mark && names.find(name => rangeOf(name)!.last === mark.segment)
  if (mark === undefined || last === undefined) return undefined
  for (const name of names) if (rangeOf(name)!.first > mark.segment) await files.remove(join(target, name))
  const content = await files.read(join(target, last))
  const header = decodeHeader(content)
  // A rewritten segment does not change any more.
  if (header && 'rewritten' in header) return mark
  await files.remove(join(target, last))
  await files.write(join(target, last), content.subarray(0, mark.positionBytes), { mode: 0o600 })
  return mark
}
