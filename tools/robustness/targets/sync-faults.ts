/** Makes fsync and fdatasync of a running process fail or slow, by strace's fault injection. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Heal } from '../faults.ts'

/** The reason why syncs cannot be tampered with; undefined when they can. */
export const syncFaultsMissing: string | undefined = isUsable()
  ? undefined
  : 'strace is not installed, or may not trace processes'

function isUsable(): boolean {
  try {
    execFileSync('strace', ['-qq', '-o', '/dev/null', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export type SyncTampering = { readonly type: 'error' } | { readonly type: 'delay'; readonly delayMs: number }

/** Resolves when it is in effect. */
export async function tamperWithSyncs(pid: number, tampering: SyncTampering): Promise<Heal> {
  const how = tampering.type === 'error' ? 'error=EIO' : `delay_enter=${tampering.delayMs * 1_000}`
  const inject = `inject=fsync,fdatasync:${how}`
  const command = ['-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', inject, '-p', String(pid)]
  const strace = spawn('strace', command, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(strace, 'exit')
  const output = text(strace.stderr)
  // It prints a line when it has attached.
  const attached = once(strace.stderr, 'data')
  const first = await Promise.race([
    attached.then(() => 'attached'),
    exited.then(() => 'exited'),
    sleep(attachMsMax),
  ])
  if (first !== 'attached') {
    strace.kill('SIGKILL')
    throw new Error(`strace could not attach to process ${pid}: ${await output}`)
  }
  return async () => {
    strace.kill('SIGTERM')
    // It can hang when the process exits at the same time. The kernel detaches when it is killed.
    const killing = setTimeout(() => strace.kill('SIGKILL'), detachMsMax)
    await exited
    clearTimeout(killing)
  }
}

const attachMsMax = 10_000
const detachMsMax = 2_000
