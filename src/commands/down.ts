/** `k8ts down`: stops a cluster on this machine and removes all its state. */
import { join } from 'node:path'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import { removeCluster } from '#/cluster/remove-cluster.ts'
import type { Command } from '#/command-line/command.ts'
import { isLinux, nodeLinux, nodePlatform, type Platform } from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { requireNoHost } from './folder-use.ts'
import { stopOwner } from './stop-owner.ts'

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
    await requireNoHost(platform.files, folder)
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
