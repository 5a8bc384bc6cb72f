/**
 * The supervisor of this process: the program `k8ts`, a shell script that starts this process again when it has
 * crashed. The two share only environment variables and an exit code.
 */
import { constants } from 'node:os'
import { dirname, basename } from 'node:path'
import type { ProcessExit } from '../platform.ts'

export interface Supervisor {
  readonly pid: number
  /** The process before this one, if it crashed. */
  readonly crashed?: CrashedProcess
}

export interface CrashedProcess {
  readonly pid: number
  readonly exit: ProcessExit
}

/** Path of the program `k8ts`; undefined if this process was started otherwise. */
export function findLauncher(environment = process.env): string | undefined {
  return environment['K8TS_LAUNCHER']
}

/** By which a process tells the supervisor that it crashed; any other code ends the supervisor, too. */
export const crashExitCode = 70

/** By which a process tells the supervisor that another one continues: the program in `next-program`, or the same. */
export const handOverExitCode = 75

/** Undefined if this process was started without a supervisor. */
export function findSupervisor(
  environment = process.env,
  parentPid: number = process.ppid,
): Supervisor | undefined {
  const { K8TS_SUPERVISOR_PID: pid, K8TS_LAST_EXIT: last } = environment
  // The variable is also in the environment of what this process starts.
  if (pid === undefined || Number(pid) !== parentPid) return undefined
  const [status, crashedPid] = last?.split(' ').map(Number) ?? []
  if (status === undefined || crashedPid === undefined) return { pid: parentPid }
  return { pid: parentPid, crashed: { pid: crashedPid, exit: exitOf(status) } }
}

/** The status as a shell reports it. */
function exitOf(status: number): ProcessExit {
  const [signal] = Object.entries(constants.signals).find(([, number]) => number === status - 128) ?? []
  return signal === undefined ? { code: status } : { signal }
}

/**
 * Makes Node write a diagnostic report to this file when its heap is exhausted or an exception is not caught, and
 * the latter count as crashes for the supervisor.
 */
export function reportCrashes(path: string): void {
  const { report } = process
  report.directory = dirname(path)
  report.filename = basename(path)
  report.excludeEnv = true
  // Resolving the peers of all connections takes long. The types of Node lack this option.
  Object.assign(report, { excludeNetwork: true })
  report.reportOnFatalError = true
  report.reportOnUncaughtException = true
  process.once('uncaughtExceptionMonitor', () => {
    process.once('exit', () => {
      process.exitCode = crashExitCode
    })
  })
}
