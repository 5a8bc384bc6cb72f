/**
 * Locks a cluster's folder for one process. The lock is a listening socket, which is released when the
 * process ends in any way; connecting to it returns a description of the owner. Socket paths have a length
 * limit, so for a long folder name the socket is in /tmp, named by a digest.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Listener, Platform } from '#/platform/platform.ts'
import type { StoreAlarm } from '#/store/store.ts'

/** The process that holds the lock, and its state. */
export interface LockHolder {
  readonly pid: number
  /** The URL of the API server, once it listens. */
  readonly url?: string
  readonly isReady: boolean
  /** Wall time in milliseconds since 1970. */
  readonly startedMs: number
  /** Absent in the answer of earlier versions. */
  readonly alarms?: readonly StoreAlarm[]
}

export async function lockFolder(
  { network }: Platform,
  folder: string,
  describe: () => LockHolder,
): Promise<Listener> {
  try {
    return await network.listen({ path: socketPath(folder) }, connection => {
      // A client that disconnects early must not crash this process.
      connection.on('error', () => connection.destroy())
      connection.end(JSON.stringify(describe()))
    })
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const wayOut = 'stop it, or set --data-dir'
    throw new Error(
      isTaken ? `${folder} is in use by another k8ts process: ${wayOut}` : `cannot lock ${folder}`,
      {
        cause,
      },
    )
  }
}

/** Undefined when no process holds the lock. */
export async function readLockHolder(platform: Platform, folder: string): Promise<LockHolder | undefined> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + answerTimeoutMs
  for (;;) {
    const answer = await askOwner(platform, folder)
    if (answer === undefined) return undefined
    if (answer !== '') return JSON.parse(answer) as LockHolder
    // A process that is shutting down closes the connection without a response and exits soon.
    if (clock.monotonicMs() > endMs) throw new Error(`the k8ts process of ${folder} does not respond`)
    await clock.sleep(askAgainMs)
  }
}

async function askOwner({ network, clock }: Platform, folder: string): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  try {
    const connection = await network.connect({ path: socketPath(folder) })
    const timer = clock.setTimer(answerTimeoutMs, () => connection.destroy(new Error('no response')))
    try {
      for await (const piece of connection) pieces.push(piece as Uint8Array)
    } finally {
      timer.cancel()
    }
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (['ENOENT', 'ECONNREFUSED'].includes(code)) return undefined
    if (code === 'ECONNRESET') return ''
    throw new Error(`the k8ts process of ${folder} does not respond`, { cause })
  }
  return Buffer.concat(pieces).toString()
}

function socketPath(folder: string): string {
  const inside = join(folder, 'lock.sock')
  return Buffer.byteLength(inside) <= socketPathBytesMax
    ? inside
    : `/tmp/k8ts-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}.sock`
}

/** Below the limit of every supported operating system. */
const socketPathBytesMax = 100

/** The response is one line, sent immediately. */
const answerTimeoutMs = 5_000
const askAgainMs = 50
