/** `k8ts proxy`: runs only the service proxy and the pod network of this machine. */
import { join } from 'node:path'
import {
  boolFlag,
  type FlagValues,
  describeFlags,
  integerFlag,
  parseFlags,
  stringFlag,
  UsageError,
  type Flag,
} from '#/base/flags.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { cleanUpProxy, runProxy, type ProxyProcessOptions } from '#/cluster/proxy-process.ts'
import type { Command } from '#/command-line/command.ts'
import { proxyServersAt } from '#/proxy/proxy-server.ts'
import { machineNames, nodeLinux, nodePlatform, terminationSignal } from '#/platform/node.ts'
import { file } from './component-flags.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { podNetworkFlag } from './kubelet/flags.ts'
import { readConfigurationFlag } from './node-configuration.ts'
import { nodeMachine } from './node-machine.ts'
import {
  parseCidrs,
  parseNodePortAddresses,
  parseServerAddress,
  readProxyConfiguration,
  type ProxySettings,
  type ServerAddress,
} from './proxy/configuration-file.ts'
import { proxyModeFlag } from './proxy/mode-flag.ts'
import { componentStopDeadlineMs } from './run-component.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'

const proxyFlags = {
  'config': file('KubeProxyConfiguration; the flags below override it'),
  'kubeconfig': file('client of the proxy (DIR/kube-proxy.conf)'),
  'bootstrap-kubeconfig': file('of the kubelet: writes --kubeconfig with a certificate that it requests'),
  ...dataFolderFlag,
  'cert-dir': file('folder of the requested certificate (DIR/node/pki)'),
  'hostname-override': stringFlag('NAME', 'name of the node (the host name)'),
  'cluster-cidr': cidrs('pod CIDRs of the cluster', given => given.flatMap(parseCidrs)),
  'pod-network': podNetworkFlag,
  'proxy-mode': proxyModeFlag,
  'vxlan-id': integerFlag('N', 'VNI of the pod network, the same on all nodes of the cluster (1)'),
  'nodeport-addresses': cidrs('addresses that accept node ports, or primary (all)', given =>
    parseNodePortAddresses(given.flatMap(each => each.split(','))),
  ),
  'healthz-bind-address': serverFlag('address of health; port 0 turns it off (the node, 10256)', 10_256),
  'metrics-bind-address': serverFlag('address of metrics; port 0 turns it off (the node, 10249)', 10_249),
  'cleanup': boolFlag('remove all rules and the pod network from the machine, and exit'),
  ...verbosityFlag,
}

const help = `Usage: k8ts proxy [FLAGS]

Runs the service proxy as a process of its own, the role of kube-proxy, and the pod network between nodes.
Rules and routes remain when it stops, and the next one continues with them. Health is served at port 10256, metrics at
port 10249 of the node's address.

${describeFlags(proxyFlags)}
Examples:
  k8ts proxy --kubeconfig kube-proxy.conf --cluster-cidr 10.244.0.0/16
      connects the pods of all nodes by VXLAN
  k8ts proxy --kubeconfig kube-proxy.conf --pod-network none
      with another CNI plugin
  k8ts proxy --cleanup
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, proxyFlags)
    const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
    const file = await readConfigurationFlag(platform, flags.config, readProxyConfiguration)
    const linux = await nodeLinux()
    if (!linux.machine.isRoot) throw new Error('the service proxy requires root')
    const folder = dataFolder(flags)
    const podCidrs = flags['cluster-cidr'] ?? file.podCidrs ?? []
    if (flags.cleanup) {
      await cleanUpProxy({ platform, linux, folder, podCidrs })
      return 0
    }
    const options = {
      ...planProxy(flags, file, folder),
      platform,
      linux,
      machine: nodeMachine(),
      onProgress: (line: string) => terminal.write(`${line}\n`),
    }
    await runProxy(options, terminationSignal({ deadlineMs: componentStopDeadlineMs }))
    return 0
  },
}

type PlannedProxy = Omit<ProxyProcessOptions, 'platform' | 'linux' | 'machine' | 'onProgress'>

/** Throws UsageError. */
function planProxy(
  flags: FlagValues<typeof proxyFlags>,
  file: Partial<ProxySettings>,
  folder: string,
): PlannedProxy {
  const { 'cluster-cidr': podCidrs = file.podCidrs ?? [], 'pod-network': podNetwork = 'vxlan' } = flags
  if (podNetwork !== 'none' && podCidrs.length === 0)
    throw new UsageError(`--cluster-cidr is required with --pod-network ${podNetwork}`)
  const [hostname = 'node'] = machineNames()
  const { requestsPerSecond: perSecond, requestsBurst: burst = 10 } = file
  return {
    folder,
    nodeName: (flags['hostname-override'] ?? file.hostname ?? hostname).toLowerCase(),
    kubeconfig: flags.kubeconfig ?? file.kubeconfig ?? join(folder, 'kube-proxy.conf'),
    bootstrapKubeconfig: flags['bootstrap-kubeconfig'],
    certificates: flags['cert-dir'] ?? nodeFolders(folder).certificates,
    podCidrs,
    podNetwork,
    detectsLocalByNode: file.detectsLocalByNode ?? false,
    vxlanId: flags['vxlan-id'] ?? 1,
    mode: flags['proxy-mode'] ?? file.mode ?? 'nftables',
    nodePortAddresses: flags['nodeport-addresses'] ?? file.nodePortAddresses,
    servers: nodeAddress => {
      const usual = proxyServersAt(nodeAddress)
      return {
        health: chosen(flags['healthz-bind-address'] ?? file.health, usual.health),
        metrics: chosen(flags['metrics-bind-address'] ?? file.metrics, usual.metrics),
      }
    },
    conntrack: file.conntrack ?? {},
    requestLimits: perSecond === undefined ? undefined : { perSecond, burst },
  }
}

function chosen(
  given: ServerAddress | undefined,
  usual: ServerAddress | undefined,
): ServerAddress | undefined {
  if (given === undefined) return usual
  return given.port === 0 ? undefined : given
}

function serverFlag(help: string, usualPort: number): Flag<ServerAddress> {
  return {
    value: 'ADDRESS:PORT',
    help,
    read: given => parseServerAddress(given.at(-1) ?? '', usualPort),
  }
}

function cidrs(help: string, read: (given: readonly string[]) => readonly string[]): Flag<readonly string[]> {
  return { value: 'CIDRS', help, read }
}
