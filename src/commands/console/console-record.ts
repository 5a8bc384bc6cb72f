import { join } from 'node:path'
import { readAll } from '#/base/read-all.ts'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'

/** The console of a running cluster, in its data folder. */
export interface ConsoleRecord {
  /** Kept for the next start of the cluster. */
  readonly port: number
  /** Of the process that serves it. */
  readonly pid: number
  /** Lets a command of the same user ask for a link; valid as long as the process. */
  readonly linkKey: string
}

export async function writeConsoleRecord(
  { files }: Platform,
  folder: string,
  record: ConsoleRecord,
): Promise<void> {
  await files.write(recordPath(folder), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

/** Undefined if there is none, or it cannot be read. */
export async function readConsoleRecord(
  { files }: Platform,
  folder: string,
): Promise<ConsoleRecord | undefined> {
  const path = recordPath(folder)
  if ((await files.stat(path)) === undefined) return undefined
  try {
    const content = Buffer.from(await files.read(path)).toString()
    const { port, pid, linkKey } = JSON.parse(content) as Partial<ConsoleRecord>
    const isComplete = typeof port === 'number' && typeof pid === 'number' && typeof linkKey === 'string'
    return isComplete ? { port, pid, linkKey } : undefined
  } catch {
    return undefined
  }
}

export interface LinkRequest {
  readonly platform: Platform
  readonly connect: HttpConnect
  /** Data folder of the cluster. */
  readonly folder: string
}

/** Asks the console of a running cluster for a link. Undefined if it does not run. */
export async function requestConsoleLink({
  platform,
  connect,
  folder,
}: LinkRequest): Promise<string | undefined> {
  const record = await readConsoleRecord(platform, folder)
  // The port of a process that has ended may belong to another user by now.
  const holder = record && (await readLockHolder(platform, folder))
  if (record === undefined || holder?.pid !== record.pid) return undefined
  const origin = `http://127.0.0.1:${record.port}`
  await using client = connect({ origin })
  const headers = { authorization: `Bearer ${record.linkKey}` }
  const { body } = await client.request({ method: 'POST', path: '/session/link', headers })
  const { token } = JSON.parse((await readAll(body, answerBytesMax)).toString()) as {
    readonly token?: unknown
  }
  return typeof token === 'string' ? `${origin}/#token=${token}` : undefined
}

const answerBytesMax = 64 * 1024

function recordPath(folder: string): string {
  return join(folder, 'console.json')
}
