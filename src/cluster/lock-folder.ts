/**
 * One process works on a folder. Who listens at a socket has the lock, and loses it with its life, however it
 * ends. The path of a socket must be short, so that of a long folder is made of its digest.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Listener, Platform } from '#/platform/platform.ts'

export async function lockFolder({ network }: Platform, folder: string): Promise<Listener> {
  const inside = join(folder, 'lock.sock')
  const path =
    Buffer.byteLength(inside) <= socketPathBytesMax
      ? inside
      : `/tmp/k8ts-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}.sock`
  try {
    return await network.listen({ path }, connection => connection.destroy())
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const wayOut = 'stop it, or choose another folder with --data-dir'
    throw new Error(isTaken ? `another k8ts is running on ${folder}: ${wayOut}` : `cannot lock ${folder}`, {
      cause,
    })
  }
}

/** What every operating system takes. */
const socketPathBytesMax = 100
