import type { BigIntStats } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'

const blockBytes = 512n

/** Maximum number of hard-linked files tracked to be counted once; beyond it they count once per name. */
const sharedMax = 100_000

/**
 * An estimate: paths may be too long for the kernel or change meanwhile, and entries that cannot be read are
 * skipped.
 */
export async function usage(
  path: string,
  signal?: AbortSignal,
): Promise<{ readonly bytes: number; readonly inodes: number }> {
  const root = await lstat(path, { bigint: true })
  const shared = new Set<bigint>()
  const folders = [path]
  let blocks = root.blocks
  let inodes = 1
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const child of statusesIn(folder)) {
      signal?.throwIfAborted()
      const { stats } = child
      if (stats.dev !== root.dev || shared.has(stats.ino)) continue
      if (stats.nlink > 1n && !stats.isDirectory() && shared.size < sharedMax) shared.add(stats.ino)
      if (stats.isDirectory()) folders.push(child.path)
      blocks += stats.blocks
      inodes += 1
    }
  }
  return { bytes: Number(blocks * blockBytes), inodes }
}

async function* statusesIn(folder: string): AsyncIterable<{ path: string; stats: BigIntStats }> {
  try {
    for await (const { name } of await opendir(folder)) {
      const path = join(folder, name)
      const stats = await lstat(path, { bigint: true }).catch(() => undefined)
      if (stats) yield { path, stats }
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
  }
}
