/** `k8ts up`: runs a cluster on this machine until terminated. */
import { resolve } from 'node:path'
import { parseCidr } from '#/api/net/cidr.ts'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import {
  enumFlag,
  describeFlags,
  stringSliceFlag,
  valueFlag,
  parseFlags,
  boolFlag,
  UsageError,
} from '#/base/flags.ts'
import type { Flag, FlagValues } from '#/base/flags.ts'
import type { NodesSettings } from '#/cluster.ts'
import type { IngressPorts } from '#/cluster/container-node.ts'
import { missingFeatures, checkContainerPreflight } from '#/cluster/container-preflight.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { parseRegistryMirror, type RegistryMirror } from '#/cri/registry-mirrors.ts'
import { isLinux, nodeLinux, nodePlatform, programCommand } from '#/platform/node.ts'
import { startClusterConsole, type ClusterConsole } from './console/start-console.ts'
import { adminKubeconfig, dataFolder } from './data-folder.ts'
import { proxyModeFlag } from './proxy/mode-flag.ts'
import { runDetached } from './run-detached.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const file = { parse: (given: string) => resolve(given), what: 'a file' }
const nodeCount = {
  parse: (given: string) => (/^[1-9]\d{0,3}$/.test(given) ? Number(given) : undefined),
  what: 'a number from 1 to 9999',
}

const portNumber = {
  parse: (given: string) =>
    /^[1-9]\d{0,4}$/.test(given) && Number(given) < 65_536 ? Number(given) : undefined,
  what: 'a port',
}

const registryMirrors: Flag<readonly RegistryMirror[]> = {
  value: 'HOST=URL',
  help: 'pull images of registry HOST from URL first (docker.io=https://mirror.example.com)',
  read: given => given.flatMap(each => each.split(',')).map(each => parseRegistryMirror(each.trim())),
}

const upFlags = {
  'nodes': valueFlag(
    'N',
    'number of nodes (default 1); further ones are network namespaces of this machine',
    nodeCount,
  ),
  'runtime': enumFlag(
    ['auto', 'containerd', 'simulated'],
    'container runtime; auto selects containerd if available (root on Linux), else simulated',
  ),
  'simulated-nodes': valueFlag('N', 'number of simulated nodes (no containers)', nodeCount),
  'no-node': boolFlag('run without nodes'),
  'detach': boolFlag('run in the background, log in DIR/k8ts.log; see k8ts status and k8ts down'),
  'pod-cidr': stringSliceFlag(
    'CIDRS',
    'pod CIDRs (default 10.244.0.0/16 for the first cluster of a machine)',
  ),
  'load-balancer-addresses': stringSliceFlag(
    'RANGES',
    'addresses of LoadBalancer services: 192.0.2.0/28,192.0.2.40-192.0.2.50',
  ),
  'registry-mirror': registryMirrors,
  'proxy-mode': proxyModeFlag,
  'no-ingress': boolFlag('do not serve Ingresses'),
  'ingress-http-port': valueFlag('N', 'port of Ingresses at the address of the node (80)', portNumber),
  'ingress-https-port': valueFlag('N', 'port of Ingresses for TLS (443)', portNumber),
  'console-port': valueFlag(
    'N',
    'port of the console (default: a free one, kept for the next start)',
    portNumber,
  ),
  'no-console': boolFlag('do not serve the console, see k8ts console'),
  'scheduler-config': valueFlag('FILE', "the scheduler's configuration (KubeSchedulerConfiguration)", file),
  'policy-config-file': valueFlag('FILE', 'legacy scheduler configuration (Policy)', file),
  ...clusterFlags,
}

const help = `Usage: k8ts up [FLAGS]

Runs a cluster on this machine in one process: API server, controllers, scheduler, and nodes that run containers, with
service proxy and DNS. Writes the administrator's kubeconfig to DIR/admin.conf and prints a line when it is ready.
SIGTERM or ctrl-C stops everything that was started; the state remains in DIR and the next k8ts up continues with it.
If the cluster crashes it is started again, and k8ts status shows why.
If containers are not supported (no root, no containerd), a message is printed and the node is simulated.

${describeFlags(upFlags)}
The following flags are those of kube-apiserver. Configuration files are validated before anything is started.
${describeApiServerFlags()}
Examples:
  k8ts up
      a cluster with real containers: export KUBECONFIG=~/.k8ts/admin.conf, then kubectl as usual
  k8ts up --detach && k8ts status
      the same in the background; k8ts down removes it with all its data
  k8ts up --data-dir /tmp/second --port 0
      a second cluster
  k8ts up --registry-mirror docker.io=https://mirror.example.com --registry-mirror _default=http://10.0.0.5:5000
      pulls images through mirrors; several mirrors of one registry are tried in order, then the registry itself
  k8ts up --nodes 3
      three nodes with containers; k8ts node add and k8ts node remove change the number while it runs
  k8ts up --simulated-nodes 3 --port 0 --store memory
      an in-memory cluster for tests: pods pass through all phases without containers
  k8ts up --no-node --audit-policy-file policy.yaml --audit-log-path /var/log/audit.log
      enables the audit log
  k8ts up --no-node --oidc-issuer-url https://id.example.com --oidc-client-id k8s --oidc-groups-claim groups
      accepts tokens of an OIDC issuer
  k8ts up --no-node --authorization-mode Node,RBAC,Webhook --authorization-webhook-config-file ask.kubeconfig
      authorizes with a webhook what RBAC does not allow
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, { ...upFlags, ...apiServerFlags })
    validateFlags(flags)
    if (flags.detach) return runDetached(terminal, { parameters, flags })
    const nodes = await chooseNodes(flags, terminal)
    const { 'scheduler-config': schedulerConfig, 'policy-config-file': policyConfigFile } = flags
    const controlPlane = {
      nodes,
      loadBalancerAddresses: flags['load-balancer-addresses'] ?? [],
      ...(schedulerConfig !== undefined && { schedulerConfig }),
      ...(policyConfigFile !== undefined && { policyConfigFile }),
    }
    await using console = await serveClusterConsole(flags)
    return await runCluster(terminal, {
      flags,
      controlPlane,
      ...(console && { onReady: () => console.announce() }),
    })
  },
}

async function serveClusterConsole(flags: UpFlags): Promise<ClusterConsole | undefined> {
  if (flags['no-console']) return undefined
  const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
  const folder = dataFolder(flags)
  return startClusterConsole(platform, {
    folder,
    kubeconfig: adminKubeconfig(folder),
    port: flags['console-port'],
  })
}

type UpFlags = FlagValues<typeof upFlags>

function validateFlags(flags: UpFlags): void {
  const given = (['nodes', 'simulated-nodes', 'no-node'] as const).filter(name => flags[name])
  if (given.length > 1) throw new UsageError(`--${given[0]} and --${given[1]} are mutually exclusive`)
  if (flags['no-console'] && flags['console-port'] !== undefined) {
    throw new UsageError('--no-console and --console-port are mutually exclusive')
  }
  if (flags['scheduler-config'] !== undefined && flags['policy-config-file'] !== undefined) {
    throw new UsageError('--scheduler-config and --policy-config-file are mutually exclusive')
  }
  for (const cidr of flags['pod-cidr'] ?? []) {
    if (parseCidr(cidr) === undefined) throw new UsageError(`--pod-cidr ${cidr}: invalid CIDR`)
  }
  const { runtime = 'auto' } = flags
  const isWithoutContainers = flags['no-node'] || flags['simulated-nodes'] || runtime === 'simulated'
  const ofContainers = ['registry-mirror', 'proxy-mode', 'ingress-http-port', 'ingress-https-port'] as const
  for (const name of ofContainers) {
    if (flags[name] !== undefined && isWithoutContainers)
      throw new UsageError(`--${name} requires a node with containers`)
  }
}

function ingressPorts(flags: UpFlags): IngressPorts {
  return { httpPort: flags['ingress-http-port'] ?? 80, httpsPort: flags['ingress-https-port'] ?? 443 }
}

/** Explains in one line a node that is simulated although no flag asks for it. */
async function chooseNodes(flags: UpFlags, terminal: Terminal): Promise<NodesSettings> {
  const { runtime = 'auto', nodes: count = 1 } = flags
  if (flags['no-node']) return { type: 'none' }
  if (flags['simulated-nodes']) return { type: 'simulated', count: flags['simulated-nodes'] }
  if (runtime === 'simulated') return { type: 'simulated', count }
  const linux = isLinux() ? await nodeLinux() : undefined
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const why = await checkContainerPreflight(platform, linux)
  const { 'pod-cidr': podCidrs, 'registry-mirror': mirrors, 'proxy-mode': proxyMode } = flags
  if (linux !== undefined && why === undefined) {
    const lacks = await missingFeatures(platform, linux)
    if (lacks !== undefined) terminal.write(`${lacks}\n`)
    return {
      type: 'containers',
      linux,
      count,
      program: programCommand(),
      ...(podCidrs && { podCidrs }),
      ...(mirrors && { registryMirrors: mirrors }),
      ...(proxyMode && { proxyMode }),
      ...(!flags['no-ingress'] && { ingress: ingressPorts(flags) }),
    }
  }
  if (runtime === 'containerd') throw new Error(`cannot run containers: ${why}`)
  if (mirrors) throw new UsageError(`--registry-mirror requires a node with containers: ${why}`)
  terminal.write(`no containers, ${count === 1 ? 'the node is' : 'nodes are'} simulated: ${why}\n`)
  return { type: 'simulated', count }
}
