/** A disk of a few megabytes, for tests of a full disk. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export const smallDiskMissing: string | false = process.getuid?.() !== 0 && 'a disk of its own needs root'

/** Mounted until the test ends. Returns its path. */
export async function smallDisk(t: TestContext, diskBytes: number): Promise<string> {
  const disk = await mkdtemp(join(tmpdir(), 'k8ts-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'k8ts-test', disk])
  t.after(async () => {
    execFileSync('umount', ['--lazy', disk])
    await rmdir(disk)
  })
  return disk
}

/** Uses up all space, of which a server may use some meanwhile. */
export async function fillDisk(disk: string): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  await using filler = await open(join(disk, 'filler'), 'w')
  const block = Buffer.alloc(bsize)
  try {
    for (let blocks = 0; blocks < bavail; blocks++) await filler.write(block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** Frees what `fillDisk` has used. */
export async function emptyDisk(disk: string): Promise<void> {
  await rm(join(disk, 'filler'))
}
