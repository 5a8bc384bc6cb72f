/** How another version of k8ts takes the place of the process that runs in a data folder, while containers go on. */
import { join } from 'node:path'
import type { LockHolder } from './lock-folder.ts'

export type Replacement =
  /** No process runs. */
  | { readonly type: 'none' }
  /** The process ends in an orderly way; then its supervisor starts the other program, in its own place. */
  | { readonly type: 'hand-over'; readonly pid: number }
  /**
   * An earlier version cannot hand over, and stops the containers when it is stopped. It is killed, which loses
   * nothing that was acknowledged; the supervisor first, since it would restart the other.
   */
  | { readonly type: 'kill'; readonly pids: readonly number[] }
  | { readonly type: 'refuse'; readonly reason: string }

export function planReplacement(holder: LockHolder | undefined): Replacement {
  if (holder === undefined) return { type: 'none' }
  const { pid, supervisorPid, command, program } = holder
  if (command !== undefined)
    return {
      type: 'refuse',
      reason: `${command}, process ${pid}, uses the data directory: wait until it has ended`,
    }
  if (program !== undefined) return { type: 'hand-over', pid }
  return { type: 'kill', pids: supervisorPid === undefined ? [pid] : [supervisorPid, pid] }
}

/** Has the path of the program that continues after a hand-over; read and removed by the supervisor. */
export function nextProgramPath(folder: string): string {
  return join(folder, 'next-program')
}

/** The parameters of a k8ts process, from its command line; undefined if it is no k8ts. */
export function parametersIn(commandLine: readonly string[]): readonly string[] | undefined {
  const program = commandLine.findIndex(word => /(^|\/)main\.[jt]s$/.test(word))
  return program === -1 ? undefined : commandLine.slice(program + 1)
}
