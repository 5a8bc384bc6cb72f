/** `k8ts up`: a cluster on this machine, until somebody ends it. */
import { resolve } from 'node:path'
import { parseCidr } from '#/api/cidr.ts'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import { choice, describeFlags, list, oneValue, readFlags, toggle, UsageError } from '#/base/flags.ts'
import type { FlagValues } from '#/base/flags.ts'
import type { NodesChoice } from '#/cluster.ts'
import { whyNoContainers } from '#/cluster/why-no-containers.ts'
import type { Command, Terminal } from '#/command-line/command.ts'
import { isLinux, nodeLinux, nodePlatform } from '#/platform/node.ts'
import { runDetached } from './run-detached.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const file = { parse: (given: string) => resolve(given), what: 'a file' }
const nodeCount = {
  parse: (given: string) => (/^[1-9]\d{0,3}$/.test(given) ? Number(given) : undefined),
  what: 'a number from 1 to 9999',
}

const upFlags = {
  'nodes': oneValue('N', 'how many nodes (1); several are simulated ones', nodeCount),
  'runtime': choice(
    ['auto', 'containerd', 'simulated'],
    'what runs pods; auto is containerd where it can be had (root on Linux, Debian packages)',
  ),
  'simulated-nodes': oneValue('N', 'so many nodes that only seem to run pods', nodeCount),
  'no-node': toggle('no node at all'),
  'detach': toggle('go on in the background; k8ts status tells how it is, k8ts down ends it'),
  'pod-cidr': list('CIDRS', 'addresses of pods (10.244.0.0/16 for the first cluster of a machine)'),
  'load-balancer-addresses': list(
    'RANGES',
    'for services of type LoadBalancer: 192.0.2.0/28,192.0.2.40-192.0.2.50',
  ),
  'scheduler-config': oneValue('FILE', "the scheduler's configuration (KubeSchedulerConfiguration)", file),
  'policy-config-file': oneValue('FILE', 'the same in the form that it once had (Policy)', file),
  ...clusterFlags,
}

const help = `Usage: k8ts up [FLAGS]

Runs a cluster on this machine in one process: API server, controllers, scheduler, and this machine as a node that runs
containers, with services and DNS. Writes the administrator's kubeconfig to DIR/admin.conf and says when it is ready.
SIGTERM or ctrl-C stops everything it started and leaves the state in DIR; the next k8ts up goes on from there.
Where containers cannot be run (no root, no containerd) it says so, and pods only seem to run.

${describeFlags(upFlags)}
The flags that follow are kube-apiserver's, and mean what they mean there. What a file says is checked before
anything starts.
${describeApiServerFlags()}
Examples:
  k8ts up
      a cluster with real containers: export KUBECONFIG=~/.k8ts/admin.conf, then kubectl as usual
  k8ts up --detach && k8ts status
      the same in the background; k8ts down removes it with all it had
  k8ts up --data-dir /tmp/second --port 0
      another one beside it
  k8ts up --simulated-nodes 3 --port 0 --store memory
      one for a test, of which nothing is left: pods go through all their phases, and no container runs
  k8ts up --no-node --audit-policy-file policy.yaml --audit-log-path /var/log/audit.log
      writes down who did what
  k8ts up --no-node --oidc-issuer-url https://id.example.com --oidc-client-id k8s --oidc-groups-claim groups
      takes tokens of a company's own issuer
  k8ts up --no-node --authorization-mode Node,RBAC,Webhook --authorization-webhook-config-file ask.kubeconfig
      asks a service whether somebody may do what no role allows
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = readFlags(parameters, { ...upFlags, ...apiServerFlags })
    refuseContradictions(flags)
    if (flags.detach) return runDetached(terminal, { parameters, flags })
    const nodes = await chooseNodes(flags, terminal)
    const { 'scheduler-config': schedulerConfig, 'policy-config-file': policyConfigFile } = flags
    const controlPlane = {
      nodes,
      loadBalancerAddresses: flags['load-balancer-addresses'] ?? [],
      ...(schedulerConfig !== undefined && { schedulerConfig }),
      ...(policyConfigFile !== undefined && { policyConfigFile }),
    }
    return runCluster(terminal, { flags, controlPlane })
  },
}

type UpFlags = FlagValues<typeof upFlags>

function refuseContradictions(flags: UpFlags): void {
  const given = (['nodes', 'simulated-nodes', 'no-node'] as const).filter(name => flags[name])
  if (given.length > 1) throw new UsageError(`--${given[0]} and --${given[1]} cannot both be had`)
  if (flags['scheduler-config'] !== undefined && flags['policy-config-file'] !== undefined) {
    throw new UsageError('--scheduler-config and --policy-config-file cannot both be had')
  }
  for (const cidr of flags['pod-cidr'] ?? []) {
    if (parseCidr(cidr) === undefined) throw new UsageError(`--pod-cidr ${cidr}: not a range of addresses`)
  }
  const { runtime = 'auto', nodes = 1 } = flags
  if (runtime === 'containerd' && nodes > 1) {
    throw new UsageError(
      'several nodes with containers are not there yet: use --nodes 1 or --runtime simulated',
    )
  }
}

/** Says in one line when there will be no containers although nobody asked for that. */
async function chooseNodes(flags: UpFlags, terminal: Terminal): Promise<NodesChoice> {
  const { runtime = 'auto', nodes: count = 1 } = flags
  if (flags['no-node']) return { type: 'none' }
  if (flags['simulated-nodes']) return { type: 'simulated', count: flags['simulated-nodes'] }
  if (runtime === 'simulated' || (runtime === 'auto' && count > 1)) return { type: 'simulated', count }
  const linux = isLinux() ? await nodeLinux() : undefined
  const why = await whyNoContainers(nodePlatform({ log: { level: 'error', format: 'text' } }), linux)
  const podCidrs = flags['pod-cidr']
  if (linux !== undefined && why === undefined)
    return { type: 'containers', linux, ...(podCidrs && { podCidrs }) }
  if (runtime === 'containerd') throw new Error(`cannot run containers: ${why}`)
  terminal.write(`no containers, the node is simulated: ${why}\n`)
  return { type: 'simulated', count }
}
