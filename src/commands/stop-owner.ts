/** Stops the process that runs in a data directory, and its supervisor. */
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { isProcessAlive, signalProcess, type Platform } from '#/platform/node.ts'

/** Does nothing if none runs. */
export async function stopOwner(
  platform: Platform,
  folder: string,
  onProgress: (text: string) => void,
): Promise<void> {
  const owner = await readLockHolder(platform, folder)
  if (owner === undefined) return
  const { pid, supervisorPid = pid } = owner
  const pids = [...new Set([supervisorPid, pid])]
  onProgress(`stopping process ${supervisorPid}`)
  signalProcess(supervisorPid, 'SIGTERM')
  if (await haveEnded(platform, pids, stopMs)) return
  // The supervisor first, since it would restart the other.
  for (const each of pids) signalProcess(each, 'SIGKILL')
  if (!(await haveEnded(platform, pids, stopMs))) throw new Error(`process ${pids.join(', ')} did not exit`)
}

async function haveEnded({ clock }: Platform, pids: readonly number[], withinMs: number): Promise<boolean> {
  const endMs = clock.monotonicMs() + withinMs
  while (pids.some(isProcessAlive)) {
    if (clock.monotonicMs() > endMs) return false
    await clock.sleep(pollMs)
  }
  return true
}

/** A cluster stops within ten seconds after SIGTERM; the processes of a host stop one after the other. */
const stopMs = 35_000
const pollMs = 50
