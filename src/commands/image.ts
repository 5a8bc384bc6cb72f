/** `k8ts image`: manages the container images of a cluster's nodes on this machine. */
import { resolve } from 'node:path'
import { describeFlags, parseArgumentsAndFlags, UsageError } from '#/base/flags.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { readNodeRecords, recordedNodeFolder } from '#/cluster/node-records.ts'
import type { Command } from '#/command-line/command.ts'
import { isHelp } from '#/command-line/command-line.ts'
import { Containerd } from '#/cri/containerd.ts'
import { loadImage } from '#/cri/load-image.ts'
import { connectHttp, loadGrpc, nodeLinux, nodePlatform, type Platform } from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'

const help = `Usage: k8ts image load FILE... [--data-dir DIR]

Loads images into the cluster's nodes without a registry: archives of docker save, podman save or buildah push
oci-archive:, compressed or not. Pods with imagePullPolicy IfNotPresent (the default except for the tag latest) or Never
use them.

${describeFlags(dataFolderFlag)}
Examples:
  docker save shop:1.4 -o shop.tar && k8ts image load shop.tar
  podman save --format oci-archive shop:1.4 -o shop.tar && k8ts image load shop.tar
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    if (parameters[0] === 'load' && isHelp(parameters[1])) {
      terminal.write(help)
      return 0
    }
    const { words, values } = parseArgumentsAndFlags(parameters, dataFolderFlag)
    const [verb, ...paths] = words
    if (verb !== 'load' || paths.length === 0) throw new UsageError('usage: k8ts image load FILE...')
    const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
    const folder = dataFolder(values)
    const sockets = await runtimeSockets(platform, folder)
    if (sockets.length === 0) {
      throw new Error(`the cluster in ${folder} has no node with containers: start it with k8ts up as root`)
    }
    const [linux, connectGrpc] = await Promise.all([nodeLinux(), loadGrpc()])
    for (const path of paths) {
      const loaded = await Promise.all(
        sockets.map(async socketPath => {
          await using runtime = Containerd.connect({ platform, connectGrpc, connectHttp, socketPath })
          return await loadImage({ platform, linux, connectGrpc, socketPath, runtime }, resolve(path))
        }),
      )
      for (const reference of loaded[0] ?? []) terminal.write(`loaded ${reference}\n`)
    }
    return 0
  },
}

/** Of the container runtimes of all nodes that have been started. */
async function runtimeSockets({ files }: Platform, folder: string): Promise<readonly string[]> {
  const records = await readNodeRecords(files, folder)
  const folders = [folder, ...records.map(({ name }) => recordedNodeFolder(folder, name))]
  const paths = folders.map(each => nodeFolders(each).containerdSocket)
  const isThere = await Promise.all(paths.map(path => files.stat(path)))
  return paths.filter((_, index) => isThere[index] !== undefined)
}
