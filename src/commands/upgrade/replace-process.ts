/** Replaces the process that runs in a data folder by one of another k8ts, and waits until that is ready. */
import { join } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import { readLockHolder, type LockHolder } from '#/cluster/lock-folder.ts'
import { nextProgramPath, parametersIn, planReplacement } from '#/cluster/plan-replacement.ts'
import { isProcessAlive, signalProcess, startDetached, type Platform } from '#/platform/node.ts'

export interface ReplaceProcessOptions {
  readonly platform: Platform
  readonly folder: string
  /** Path of the program `k8ts` that continues. */
  readonly launcher: string
  /** Of that program. */
  readonly version: string
  readonly onProgress: (line: string) => void
}

/** The process that was replaced, with what a roll-back needs. */
export interface ReplacedProcess {
  readonly holder: LockHolder
  readonly parameters: readonly string[]
}

/** Undefined when none runs. Throws Error when the process cannot be replaced. */
export async function readReplacedProcess(
  platform: Platform,
  folder: string,
): Promise<ReplacedProcess | undefined> {
  const holder = await readLockHolder(platform, folder)
  const plan = planReplacement(holder)
  if (plan.type === 'refuse') throw new Error(plan.reason)
  if (holder === undefined) return undefined
  const parameters = await readParameters(platform, holder.pid)
  if (parameters === undefined)
    throw new Error(
      `process ${holder.pid} is not k8ts up or k8ts host run: stop it, and start it again with this k8ts`,
    )
  return { holder, parameters }
}

/** Resolves when the new process is ready. Rejects when it has ended, or is not ready in time. */
export async function replaceProcess(
  options: ReplaceProcessOptions,
  { holder, parameters }: ReplacedProcess,
): Promise<LockHolder> {
  const { platform, folder, launcher, onProgress } = options
  const plan = planReplacement(await readLockHolder(platform, folder))
  let isContinued = false
  if (plan.type === 'hand-over') {
    await platform.files.write(nextProgramPath(folder), `${launcher}\n`, { mode: 0o600 })
    onProgress(`process ${plan.pid} hands over: containers go on`)
    signalProcess(plan.pid, 'SIGUSR2')
    await untilEnded(options, [plan.pid])
    // Without a supervisor of its own it may have another one, such as systemd.
    isContinued = await isTakenOver(options, holder.supervisorPid)
  } else if (plan.type === 'kill') {
    onProgress(
      `process ${holder.pid} is of an earlier version, which cannot hand over: it is killed, containers go on`,
    )
    for (const pid of plan.pids) signalProcess(pid, 'SIGKILL')
    await untilEnded(options, plan.pids)
  }
  const { supervisorPid } = holder
  const isAlive =
    isContinued && supervisorPid !== undefined
      ? () => isProcessAlive(supervisorPid)
      : isContinued
        ? () => true
        : await startInBackground(options, parameters)
  return untilReady(options, isAlive)
}

/** Resolves to a function that is true while the process runs. */
async function startInBackground(
  { platform, folder, launcher, onProgress }: ReplaceProcessOptions,
  parameters: readonly string[],
): Promise<() => boolean> {
  await platform.files.remove(nextProgramPath(folder))
  const log = join(folder, 'k8ts.log')
  const { pid, exited } = await startDetached(parameters, log, { launcher })
  let hasEnded = false
  void exited.then(() => (hasEnded = true))
  onProgress(`it runs in the background as process ${pid}, log: ${log}`)
  return () => !hasEnded
}

async function untilEnded({ platform }: ReplaceProcessOptions, pids: readonly number[]): Promise<void> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + stopMs
  while (pids.some(isProcessAlive)) {
    if (clock.monotonicMs() > endMs) throw new Error(`process ${pids.join(', ')} did not exit`)
    await clock.sleep(pollMs)
  }
}

/** True if another process has the folder, or the supervisor runs, which starts it. */
async function isTakenOver(
  { platform, folder }: ReplaceProcessOptions,
  supervisorPid: number | undefined,
): Promise<boolean> {
  if (supervisorPid !== undefined) return true
  const { clock } = platform
  const endMs = clock.monotonicMs() + otherStartMs
  for (;;) {
    if ((await readHolder(platform, folder)) !== undefined) return true
    if (clock.monotonicMs() > endMs) return false
    await clock.sleep(pollMs)
  }
}

async function untilReady(
  { platform, folder, version }: ReplaceProcessOptions,
  isAlive: () => boolean,
): Promise<LockHolder> {
  const { clock } = platform
  const endMs = clock.monotonicMs() + readyMs
  for (;;) {
    const holder = await readHolder(platform, folder)
    if (holder !== undefined) {
      const { program, isReady, crash } = holder
      if (isReady && (program?.version ?? version) === version) return holder
      if (isReady) throw new Error(`k8ts ${program?.version} has started instead of ${version}`)
      if (crash !== undefined && crash.restarts > 1) throw new Error(`it crashes repeatedly: ${crash.reason}`)
    }
    if (!isAlive()) throw new Error('it has ended')
    if (clock.monotonicMs() > endMs) throw new Error(`it is not ready after ${readyMs / 1_000} s`)
    await clock.sleep(pollMs)
  }
}

/** Undefined also while the process is ending. */
async function readHolder(platform: Platform, folder: string): Promise<LockHolder | undefined> {
  try {
    return await readLockHolder(platform, folder)
  } catch (error) {
    platform.log.debug('The process of the data directory does not answer', { error: messageOf(error) })
    return undefined
  }
}

async function readParameters({ files }: Platform, pid: number): Promise<readonly string[] | undefined> {
  const path = `/proc/${pid}/cmdline`
  if ((await files.stat(path)) === undefined) return undefined
  const words = Buffer.from(await files.read(path))
    .toString()
    .split('\0')
    .slice(0, -1)
  return parametersIn(words)
}

/** A cluster stops within ten seconds, the processes of a host one after the other. */
const stopMs = 35_000
/** As long as systemd waits by default (RestartSec=100ms), and more. */
const otherStartMs = 5_000
const readyMs = 180_000
const pollMs = 50
