/** `k8ts down`: stops a cluster on this machine and removes all its state. */
import { join } from 'node:path'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import { readLockHolder } from '#/cluster/lock-folder.ts'
import { removeCluster } from '#/cluster/remove-cluster.ts'
import type { Command } from '#/command-line/command.ts'
import {
  isLinux,
  isProcessAlive,
  nodeLinux,
  nodePlatform,
  signalProcess,
  type Platform,
} from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'

const help = `Usage: k8ts down [--data-dir DIR]

Stops the cluster in this folder, if it is running, and removes its containers, networks, mounts and the folder. All
data of the cluster is deleted. To only stop it, terminate k8ts up with ctrl-C or SIGTERM.

${describeFlags(dataFolderFlag)}
Examples:
  k8ts down
  k8ts down --data-dir /tmp/other
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const folder = dataFolder(parseFlags(parameters, dataFolderFlag))
    const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
    if ((await platform.files.stat(folder)) === undefined) {
      terminal.write(`no cluster in ${folder}\n`)
      return 0
    }
    await assertClusterFolder(platform, folder)
    await stopOwner(platform, folder, text => terminal.write(`${text}\n`))
    await removeCluster({
      platform,
      ...(isLinux() && { linux: await nodeLinux() }),
      folder,
      onProgress: text => terminal.write(`${text}\n`),
    })
    return 0
  },
}

/** Prevents the removal of a folder that is not a cluster's, such as a home directory. */
async function assertClusterFolder({ files }: Platform, folder: string): Promise<void> {
  const marks = ['pki', 'admin.conf', 'network.json', 'lock.sock']
  const found = await Promise.all(marks.map(name => files.stat(join(folder, name))))
  if (found.some(each => each !== undefined)) return
  if ((await files.list(folder)).length === 0) return
  throw new Error(`${folder} is not a cluster folder: not removed`)
}

async function stopOwner(
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

/** A cluster stops within ten seconds after SIGTERM. */
const stopMs = 12_000
const pollMs = 50
