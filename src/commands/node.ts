/** `k8ts node`: nodes of a cluster on this machine. */
import { resolve } from 'node:path'
import { parseCidr } from '#/api/net/cidr.ts'
import { parseIp } from '#/api/net/ip.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import {
  boolFlag,
  describeFlags,
  integerFlag,
  stringFlag,
  stringSliceFlag,
  UsageError,
  valueFlag,
} from '#/base/flags.ts'
import { addNode, removeNode } from '#/cluster/change-nodes.ts'
import { runNode } from '#/cluster/node-process.ts'
import { parseRegistryMirror } from '#/cri/registry-mirrors.ts'
import { nodeLinux, nodePlatform, terminationSignal } from '#/platform/node.ts'
import { connectCluster } from './cluster-connection.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { nodeMachine } from './node-machine.ts'
import { proxyModeFlag } from './proxy/mode-flag.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'
import { commandWithVerbs, type Invocation } from './verbs.ts'
import manifest from '../../package.json' with { type: 'json' }

const addressFlag = { parse: (given: string) => (parseIp(given) ? given : undefined), what: 'an IP address' }

const nodeFlags = {
  ...dataFolderFlag,
  ...verbosityFlag,
  'force': boolFlag('remove: also delete pods that no controller replaces'),
  'node-name': stringFlag('NAME', 'run: name of the node'),
  'node-ip': valueFlag('ADDRESS', 'run: address of the node, which a link of the machine has', addressFlag),
  'cluster-cidr': stringSliceFlag('CIDRS', 'run: pod CIDRs of the cluster'),
  'service-cluster-ip-range': stringSliceFlag('CIDRS', 'run: service CIDRs of the cluster'),
  'cluster-dns': valueFlag('ADDRESS', 'run: address of the cluster DNS', addressFlag),
  'dns-upstream': valueFlag(
    'ADDRESS',
    'run: name server in place of those of the machine with loopback addresses',
    addressFlag,
  ),
  'cgroup-root': stringFlag('PATH', 'run: parent of the cgroups of pods (/k8ts)'),
  'network-name': stringFlag('NAME', 'run: name of the CNI network and of nftables tables (k8ts)'),
  'vxlan-id': integerFlag('N', 'run: VNI of the pod network, the same on all nodes of the cluster (1)'),
  'proxy-mode': proxyModeFlag,
  'registry-mirror': {
    value: 'HOST=URL',
    help: 'run: pull images of registry HOST from URL first',
    read: (given: readonly string[]) => given.map(parseRegistryMirror),
  },
}

const help = `Usage: k8ts node add [NAME] [--data-dir DIR]
       k8ts node remove NAME [--force] [--data-dir DIR]
       k8ts node run --data-dir DIR --node-name NAME --node-ip ADDRESS ...

add and remove change the nodes of a running cluster on this machine. Each further node is a network namespace with
a container runtime, kubelet, service proxy and DNS server of its own. remove evicts the pods of the node first, and
respects PodDisruptionBudgets. run is the process of one node; k8ts up starts it, and it needs DIR/kubelet.conf,
DIR/kube-proxy.conf and DIR/dns.conf.

${describeFlags(nodeFlags)}
Examples:
  k8ts node add
      adds a node and waits until it is Ready
  k8ts node add worker-7
      adds a node of this name
  k8ts node remove worker-7
      evicts its pods, then removes the node and all that it has on the machine
`

export const command = commandWithVerbs({
  name: 'node',
  help,
  flags: nodeFlags,
  takesArguments: true,
  verbs: new Map([
    ['add', add],
    ['remove', remove],
    ['run', run],
  ]),
})

type NodeInvocation = Invocation<typeof nodeFlags>

async function add({ platform, terminal, words, flags }: NodeInvocation): Promise<number> {
  if (words.length > 1) throw new UsageError('usage: k8ts node add [NAME]')
  const folder = dataFolder(flags)
  await using cluster = await connectCluster(platform, { 'data-dir': folder })
  const onProgress = (text: string): void => terminal.write(`${text}\n`)
  await addNode({ platform, client: cluster.client, folder, onProgress }, words[0])
  return 0
}

async function remove({ platform, terminal, words, flags }: NodeInvocation): Promise<number> {
  const [name, ...rest] = words
  if (name === undefined || rest.length > 0) throw new UsageError('usage: k8ts node remove NAME')
  const folder = dataFolder(flags)
  await using cluster = await connectCluster(platform, { 'data-dir': folder })
  const onProgress = (text: string): void => terminal.write(`${text}\n`)
  const options = { platform, client: cluster.client, folder, onProgress }
  await removeNode(options, { name, force: flags.force ?? false })
  return 0
}

async function run({ terminal, flags }: NodeInvocation): Promise<number> {
  const { 'node-name': name, 'node-ip': address, 'cluster-dns': dnsAddress } = flags
  const { 'cluster-cidr': podCidrs = [], 'service-cluster-ip-range': serviceCidrs = [] } = flags
  const given = { 'data-dir': flags['data-dir'], 'node-name': name, 'node-ip': address }
  const missing = Object.entries({ ...given, 'cluster-dns': dnsAddress }).find(([, value]) => !value)
  if (missing || !name || !address || !dnsAddress) throw new UsageError(`--${missing?.[0]} is required`)
  for (const cidr of [...podCidrs, ...serviceCidrs])
    if (parseCidr(cidr) === undefined) throw new UsageError(`${cidr} is not a CIDR`)
  const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
  const options = {
    platform,
    linux: await nodeLinux(),
    machine: nodeMachine(),
    folder: resolve(dataFolder(flags)),
    name,
    address,
    podCidrs,
    serviceCidrs,
    dnsAddress,
    ...(flags['dns-upstream'] && { dnsUpstream: flags['dns-upstream'] }),
    cgroupRoot: flags['cgroup-root'] ?? '/k8ts',
    networkName: flags['network-name'] ?? 'k8ts',
    vxlanId: flags['vxlan-id'] ?? 1,
    registryMirrors: flags['registry-mirror'] ?? [],
    proxyMode: flags['proxy-mode'],
    version: gitVersion({ version: manifest.version }),
    onProgress: (text: string) => terminal.write(`${text}\n`),
  }
  await runNode(options, terminationSignal({ deadlineMs: stopDeadlineMs, handsOver: true }))
  return 0
}

/** The process exits within this time after SIGTERM in any case. */
const stopDeadlineMs = 8_000
