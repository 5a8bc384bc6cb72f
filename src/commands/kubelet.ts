/** `k8ts kubelet`: runs only the kubelet of this machine, for a cluster whose API server is reached by a kubeconfig. */
import { join } from 'node:path'
import { gitVersion } from '#/apiserver/discovery.ts'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import { runKubelet } from '#/cluster/kubelet-process.ts'
import type { Command } from '#/command-line/command.ts'
import { machineNames, nodeLinux, nodePlatform, processId, terminationSignal } from '#/platform/node.ts'
import { dataFolder } from './data-folder.ts'
import { readKubeletConfiguration } from './kubelet/configuration-file.ts'
import { kubeletFlags } from './kubelet/flags.ts'
import { planKubelet } from './kubelet/settings.ts'
import { readConfigurationFlag } from './node-configuration.ts'
import { nodeMachine } from './node-machine.ts'
import { componentStopDeadlineMs } from './run-component.ts'
import { logLevel } from './verbosity.ts'
import manifest from '../../package.json' with { type: 'json' }

const help = `Usage: k8ts kubelet [FLAGS]

Runs the kubelet as a process of its own, with the flags of kubelet and a KubeletConfiguration. It needs a kubeconfig,
or a bootstrap kubeconfig to get one. Unless --container-runtime-endpoint names a container runtime, it starts a private
containerd. Containers keep running when it stops, and the next kubelet continues with them; k8ts reset removes them.

${describeFlags(kubeletFlags)}
Examples:
  k8ts kubelet --kubeconfig kubelet.conf --cluster-dns 10.96.0.10
      runs the pods of the node, with a containerd of its own
  k8ts kubelet --config kubelet.yaml --container-runtime-endpoint unix:///run/containerd/containerd.sock
      with a configuration file and the containerd of the machine
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, kubeletFlags)
    const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
    const folder = dataFolder(flags)
    const file = await readConfigurationFlag(platform, flags.config, readKubeletConfiguration)
    const [hostname = 'node', address = '127.0.0.1'] = machineNames()
    const hasClusterCa = (await platform.files.stat(join(folder, 'pki/ca.crt'))) !== undefined
    const planned = planKubelet({ flags, file, folder, machine: { hostname, address }, hasClusterCa })
    const options = {
      ...planned,
      platform,
      linux: await nodeLinux(),
      machine: nodeMachine(),
      pid: processId(),
      version: gitVersion({ version: manifest.version }),
      onProgress: (line: string) => terminal.write(`${line}\n`),
    }
    if (!options.linux.machine.isRoot) throw new Error('the kubelet requires root')
    await runKubelet(options, terminationSignal({ deadlineMs: componentStopDeadlineMs }))
    return 0
  },
}
