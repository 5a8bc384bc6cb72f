/** Starts the processes of a host in the background, as a part of `k8ts init`, `k8ts join` and `k8ts host start`. */
import { dirname } from 'node:path'
import { processLogPath } from '#/cluster/host-process-records.ts'
import { hostUnitPath } from '#/cluster/host-unit.ts'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { nodeLinux, startDetached, type Platform } from '#/platform/node.ts'

const startMs = 20_000
const pollMs = 50

/** Resolves when the process that runs the others has the folder. */
export async function startHost(platform: Platform, folder: string): Promise<'started' | 'running'> {
  const { files, clock } = platform
  const holder = await readLockHolder(platform, folder)
  if (holder?.processes !== undefined) return 'running'
  if (holder !== undefined)
    throw new Error(`${folder} is in use by process ${holder.pid}: stop k8ts up first`)
  const log = processLogPath(folder, 'host')
  await files.makeFolder(dirname(log), { mode: 0o700 })
  const child = await startDetached(['host', 'run', '--data-dir', folder], log)
  let hasEnded = false
  void child.exited.then(() => (hasEnded = true))
  const endMs = clock.monotonicMs() + startMs
  while ((await readLockHolder(platform, folder)) === undefined) {
    if (hasEnded || clock.monotonicMs() > endMs) throw new Error(`k8ts host run did not start: see ${log}`)
    await clock.sleep(pollMs)
  }
  return 'started'
}

/** Printed at the end of `init` and `join`; empty where the unit exists, or without systemd. */
export async function bootHint({ files }: Platform, folder: string): Promise<string> {
  const { machine } = await nodeLinux()
  if (!machine.hasSystemd || (await files.stat(hostUnitPath)) !== undefined) return ''
  const command = `k8ts host unit --data-dir ${folder} >${hostUnitPath} && systemctl enable k8ts`
  return `\nTo start the processes of this host when the machine boots:\n\n  ${command}\n`
}
