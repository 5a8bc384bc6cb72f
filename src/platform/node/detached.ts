import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import type { ProcessExit } from '../platform.ts'
import { outputFileVariable } from './bounded-output.ts'
import { programCommand } from './machine.ts'
import { findLauncher } from './supervisor.ts'

/** A process that outlives this one. */
export interface DetachedProcess {
  readonly pid: number
  /** Settles only if the process ends before this one. */
  readonly exited: Promise<ProcessExit>
}

/**
 * Starts this program again, with other parameters, by the launcher if this process was started by it. Its output is
 * appended to a file, which its log keeps bounded. The launcher may also be that of another package.
 */
export async function startDetached(
  parameters: readonly string[],
  outputPath: string,
  { launcher = findLauncher() }: { readonly launcher?: string } = {},
): Promise<DetachedProcess> {
  await using output = await open(outputPath, 'a', 0o600)
  const [program = '', ...rest] = launcher === undefined ? programCommand() : [launcher]
  const child = spawn(program, [...rest, ...parameters], {
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
    env: { ...process.env, [outputFileVariable]: outputPath },
  })
  await once(child, 'spawn')
  child.unref()
  const exited = new Promise<ProcessExit>(settle => {
    child.once('exit', (code, signal) => settle(signal ? { signal } : { code: code ?? 0 }))
  })
  return { pid: child.pid ?? 0, exited }
}

/** Returns false if there is no such process. */
export function signalProcess(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 'SIGUSR2'): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
