/**
 * Locks a cluster's folder for one process. The lock is a listening socket, which is released when the
 * process ends in any way; connecting to it returns a description of the owner. Socket paths have a length
 * limit, so for a long folder name the socket is in /tmp, named by a digest.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { HistoryStatus } from '#/history/history-log.ts'
import type { Listener, Platform } from '#/platform/platform.ts'
import type { SyncStatus } from '#/proxy/sync-reporter.ts'
import type { StoreAlarm } from '#/store/store.ts'

/** The process that holds the lock, and its state. */
export interface LockHolder {
  readonly pid: number
  /** The process that restarts this one when it crashes; absent if there is none. */
  readonly supervisorPid?: number
  /** Absent in the answer of earlier versions, which cannot hand over. */
  readonly program?: HolderProgram
  /** The crash because of which the process was restarted. */
  readonly crash?: Crash
  /** When the cluster will be started after repeated crashes; wall time in milliseconds since 1970. */
  readonly backOffUntilMs?: number
  /** A command for a stopped cluster, such as `k8ts snapshot save`; absent if the process is the cluster. */
  readonly command?: string
  /** The URL of the API server, once it listens. */
  readonly url?: string
  readonly isReady: boolean
  /** Wall time in milliseconds since 1970. */
  readonly startedMs: number
  /** Absent in the answer of earlier versions. */
  readonly alarms?: readonly StoreAlarm[]
  /** The last sync of the store that took long. */
  readonly slowSync?: SlowSync
  /** Why the last scheduled snapshot has failed; absent when it was taken. */
  readonly snapshotFailure?: string
  /** Absent if none is kept. */
  readonly history?: HolderHistory
  /** Of this machine as a node; absent without one. */
  readonly serviceProxy?: SyncStatus
  /** The process of the Ingress controller beside that of the cluster; absent while there is none. */
  readonly ingress?: HostProcessState
  /** Of `k8ts host run`; absent if the process is the cluster. */
  readonly processes?: readonly HostProcessState[]
}

export interface HolderHistory extends Partial<Omit<HistoryStatus, 'sizeBytes'>> {
  readonly sizeBytes: number
  /** Why it is kept in memory and not in its folder. */
  readonly fallback?: string
}

export interface HolderProgram {
  /** Version of k8ts. */
  readonly version: string
  /** Path of the program `k8ts`; absent if the process was started otherwise. */
  readonly launcher?: string
}

/** A component that runs as a process of its own on a host. */
export interface HostProcessState {
  readonly name: string
  /** Undefined while it is being restarted. */
  readonly pid: number | undefined
  readonly restarts: number
}

export interface SlowSync {
  /** Wall time in milliseconds since 1970. */
  readonly endedMs: number
  readonly tookMs: number
}

/** The last crash of the process that ran the cluster. */
export interface Crash {
  readonly reason: string
  /** Wall time in milliseconds since 1970. */
  readonly crashedMs: number
  /** Since the cluster was started by its user. */
  readonly restarts: number
}

/** Waits a while for a command that has the lock, since most of them end soon. */
export async function lockFolder(
  platform: Platform,
  folder: string,
  describe: () => LockHolder,
): Promise<Listener> {
  const { network, clock } = platform
  const endMs = clock.monotonicMs() + commandWaitMs
  for (;;) {
    try {
      return await network.listen({ path: socketPath(folder) }, connection => {
        // A client that disconnects early must not crash this process.
        connection.on('error', () => connection.destroy())
        connection.end(JSON.stringify(describe()))
      })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE')
        throw new Error(`cannot lock ${folder}`, { cause })
      const holder = await readLockHolder(platform, folder)
      const isTemporary = holder === undefined || holder.command !== undefined
      if (!isTemporary || clock.monotonicMs() > endMs) throw inUseError(folder, holder, cause)
      await clock.sleep(askAgainMs)
    }
  }
}

function inUseError(folder: string, holder: LockHolder | undefined, cause: unknown): Error {
  const { command, pid } = holder ?? {}
  const message =
    command === undefined
      ? `${folder} is in use by another k8ts process: stop it, or set --data-dir`
      : `${folder} is in use by ${command}, process ${pid}: wait until it has ended, or set --data-dir`
  return new Error(message, { cause })
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

const commandWaitMs = 10_000
