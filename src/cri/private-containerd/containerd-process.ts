/**
 * The process of a private containerd: a child, which dies with this process, or a lasting one, which goes on and is
 * found by the next process.
 */
import { join } from 'node:path/posix'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { configurationPath } from './configuration.ts'
import type { ContainerdLog } from './containerd-log.ts'
import { textOf } from './shims.ts'

export interface ContainerdProcess {
  readonly pid: number
  /** Resolves to the signal that killed it; undefined if it has exited otherwise, with the reason in its log. */
  readonly exited: Promise<string | undefined>
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export interface StartContainerd {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'run'>
  /** Root of its state. */
  readonly folder: string
  readonly command: readonly string[]
  readonly log: ContainerdLog
}

export async function startChild({ platform, command, log }: StartContainerd): Promise<ContainerdProcess> {
  const process = await platform.processes.start(command)
  process.stdout.resume()
  const logged = keepLog(process.stderr, log)
  const exited = process.exited.then(async exit => {
    // Waits for the rest of the log, but not forever: a process that inherited stderr may keep it open.
    await Promise.race([logged, platform.clock.sleep(logDrainMs)])
    return 'signal' in exit ? exit.signal : undefined
  })
  return { pid: process.pid, exited, kill: async signal => process.kill(signal) }
}

async function keepLog(output: NodeJS.ReadableStream, log: ContainerdLog): Promise<void> {
  for await (const chunk of output) await log.append(Buffer.from(chunk))
}

const logDrainMs = 500

/** Writes its log itself: a pipe would break with this process. */
export async function startLasting(options: StartContainerd): Promise<ContainerdProcess> {
  const { linux, command, log } = options
  const script =
    'log=$1; shift; (umask 077; : >>"$log"); setsid "$@" </dev/null >/dev/null 2>>"$log" & echo $!'
  const pid = Number(await linux.run(['sh', '-c', script, 'sh', log.path, ...command]))
  return followed(options, pid)
}

/** Undefined if none runs, or if its program has been replaced, as by an update. */
export async function findLasting(
  options: Omit<StartContainerd, 'command'>,
): Promise<ContainerdProcess | undefined> {
  const { platform, linux, folder } = options
  const pid = Number((await textOf(platform.files, join(folder, 'containerd.pid'))) || 0)
  if (!(await isContainerd(platform, pid, folder))) return undefined
  const program = await linux.run(['readlink', `/proc/${pid}/exe`]).catch(() => '(deleted)')
  return program.includes('(deleted)') ? undefined : followed(options, pid)
}

/** True if the process is a containerd with this folder. */
export async function isContainerd(
  { files }: Pick<Platform, 'files'>,
  pid: number,
  folder: string,
): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false
  const commandLine = await textOf(files, `/proc/${pid}/cmdline`)
  return commandLine.split('\0').includes(configurationPath(folder))
}

/** Follows a process that is not a child. Its command line is no sign of life: it is empty during an exec. */
async function followed(
  { platform, linux }: Pick<StartContainerd, 'platform' | 'linux'>,
  pid: number,
): Promise<ContainerdProcess> {
  const started = await startTimeOf(platform, pid)
  const isRunning = async (): Promise<boolean> =>
    started !== undefined && (await startTimeOf(platform, pid)) === started
  const untilGone = async (): Promise<undefined> => {
    while (await isRunning()) await platform.clock.sleep(pollMs)
    return undefined
  }
  const kill: ContainerdProcess['kill'] = async signal => {
    if (await isRunning()) await linux.run(['sh', '-c', `kill -${signal.slice(3)} ${pid} || :`])
  }
  return { pid, exited: untilGone(), kill }
}

/** Distinguishes a process from a later one with the same pid. Undefined if it has ended. */
async function startTimeOf({ files }: Pick<Platform, 'files'>, pid: number): Promise<string | undefined> {
  const stat = await textOf(files, `/proc/${pid}/stat`)
  // The name of the program, the second field, may contain spaces and parentheses.
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return afterName[0] === 'Z' ? undefined : afterName[startTimeIndex]
}

/** Field 22 of `/proc/PID/stat`; the first field after the name is field 3. */
const startTimeIndex = 19

const pollMs = 500
