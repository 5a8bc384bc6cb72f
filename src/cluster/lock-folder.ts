/**
 * One process works on a folder. Who listens at a socket has the lock, and loses it with its life, however it ends;
 * whoever connects is told who that is. The path of a socket must be short, so that of a long folder is made of its
 * digest.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Listener, Platform } from '#/platform/platform.ts'

/** Who works on a folder, and how far it has come. */
export interface FolderOwner {
  readonly pid: number
  /** The API server, once it listens. */
  readonly url?: string
  readonly isReady: boolean
  /** Wall time, milliseconds since 1970. */
  readonly startedMs: number
}

export async function lockFolder(
  { network }: Platform,
  folder: string,
  describe: () => FolderOwner,
): Promise<Listener> {
  try {
    return await network.listen({ path: socketPath(folder) }, connection => {
      // Whoever asks and does not wait for the answer is no reason for us to end.
      connection.on('error', () => connection.destroy())
      connection.end(JSON.stringify(describe()))
    })
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const wayOut = 'stop it, or choose another folder with --data-dir'
    throw new Error(isTaken ? `another k8ts is running on ${folder}: ${wayOut}` : `cannot lock ${folder}`, {
      cause,
    })
  }
}

/** Undefined when nobody works on the folder. */
export async function folderOwner(platform: Platform, folder: string): Promise<FolderOwner | undefined> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + answerTimeoutMs
  for (;;) {
    const answer = await askOwner(platform, folder)
    if (answer === undefined) return undefined
    if (answer !== '') return JSON.parse(answer) as FolderOwner
    // Who is about to end hangs up without a word, and is gone in a moment.
    if (clock.monotonicMs() > endMs) throw new Error(`the k8ts that runs on ${folder} does not answer`)
    await clock.sleep(askAgainMs)
  }
}

async function askOwner({ network, clock }: Platform, folder: string): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  try {
    const connection = await network.connect({ path: socketPath(folder) })
    const timer = clock.setTimer(answerTimeoutMs, () => connection.destroy(new Error('no answer')))
    try {
      for await (const piece of connection) pieces.push(piece as Uint8Array)
    } finally {
      timer.cancel()
    }
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (['ENOENT', 'ECONNREFUSED'].includes(code)) return undefined
    if (code === 'ECONNRESET') return ''
    throw new Error(`the k8ts that runs on ${folder} does not answer`, { cause })
  }
  return Buffer.concat(pieces).toString()
}

function socketPath(folder: string): string {
  const inside = join(folder, 'lock.sock')
  return Buffer.byteLength(inside) <= socketPathBytesMax
    ? inside
    : `/tmp/k8ts-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}.sock`
}

/** What every operating system takes. */
const socketPathBytesMax = 100

/** It is one line, said at once. */
const answerTimeoutMs = 5_000
const askAgainMs = 50
