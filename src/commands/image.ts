/** `k8ts image`: manages the container images of a cluster's node on this machine. */
import { resolve } from 'node:path'
import { describeFlags, parseArgumentsAndFlags, UsageError } from '#/base/flags.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import type { Command } from '#/command-line/command.ts'
import { isHelp } from '#/command-line/command-line.ts'
import { Containerd } from '#/cri/containerd.ts'
import { loadImage } from '#/cri/load-image.ts'
import { connectHttp, loadGrpc, nodeLinux, nodePlatform } from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'

const help = `Usage: k8ts image load FILE... [--data-dir DIR]

Loads images into the cluster's node without a registry: archives of docker save, podman save or buildah push
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
    const socketPath = nodeFolders(folder).containerdSocket
    if ((await platform.files.stat(socketPath)) === undefined) {
      throw new Error(`the cluster in ${folder} has no node with containers: start it with k8ts up as root`)
    }
    const [linux, connectGrpc] = await Promise.all([nodeLinux(), loadGrpc()])
    await using runtime = Containerd.connect({ platform, connectGrpc, connectHttp, socketPath })
    const loader = { platform, linux, connectGrpc, socketPath, runtime }
    for (const path of paths) {
      for (const reference of await loadImage(loader, resolve(path))) terminal.write(`loaded ${reference}\n`)
    }
    return 0
  },
}
