/** `k8ts up`: a cluster on this machine, until somebody ends it. */
import { resolve } from 'node:path'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import {
  describeFlags,
  list,
  oneValue,
  readFlags,
  text,
  toggle,
  UsageError,
  type Flag,
} from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const file = { parse: (given: string) => resolve(given), what: 'a file' }

const upFlags = {
  'simulated-nodes': oneValue('N', 'so many nodes that only seem to run pods', {
    parse: given => (/^[1-9]\d{0,3}$/.test(given) ? Number(given) : undefined),
    what: 'a number from 1 to 9999',
  }),
  'no-node': toggle('no node at all'),
  'load-balancer-addresses': list(
    'RANGES',
    'for services of type LoadBalancer: 192.0.2.0/28,192.0.2.40-192.0.2.50',
  ),
  'scheduler-config': oneValue('FILE', "the scheduler's configuration (KubeSchedulerConfiguration)", file),
  'policy-config-file': oneValue('FILE', 'the same in the form that it once had (Policy)', file),
  ...clusterFlags,
}

/** Parts of the contract that do not exist yet: they are refused, since to ignore them would be to pretend. */
const notYet: Readonly<Record<string, Flag<unknown>>> = {
  nodes: text('N', ''),
  runtime: text('NAME', ''),
  detach: toggle(''),
}

const help = `Usage: k8ts up --simulated-nodes N | --no-node [FLAGS]

Runs a cluster in this process, its API server, controllers and scheduler, and writes the administrator's kubeconfig
to DIR/admin.conf. SIGTERM or ctrl-C ends it and leaves the state in DIR. Nodes that run containers are not there yet.

${describeFlags(upFlags)}
The flags that follow are kube-apiserver's, and mean what they mean there. What a file says is checked before
anything starts.
${describeApiServerFlags()}
Examples:
  k8ts up --simulated-nodes 3
      a cluster to try things in: pods go through all their phases, and no container runs
  k8ts up --simulated-nodes 3 --port 0 --store memory
      one for a test, of which nothing is left
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
    const flags = readFlags(parameters, { ...upFlags, ...apiServerFlags, ...notYet })
    const missing = Object.keys(notYet).find(name => name in flags)
    if (missing !== undefined) throw new UsageError(`--${missing} is not there yet`)
    const simulatedNodes = flags['simulated-nodes'] ?? 0
    if (simulatedNodes > 0 && flags['no-node']) {
      throw new UsageError('--simulated-nodes and --no-node cannot both be had')
    }
    if (simulatedNodes === 0 && !flags['no-node']) {
      throw new UsageError(
        'nodes that run containers are not there yet: use --simulated-nodes 3, or --no-node',
      )
    }
    const { 'scheduler-config': schedulerConfig, 'policy-config-file': policyConfigFile } = flags
    if (schedulerConfig !== undefined && policyConfigFile !== undefined) {
      throw new UsageError('--scheduler-config and --policy-config-file cannot both be had')
    }
    const controlPlane = {
      simulatedNodes,
      loadBalancerAddresses: flags['load-balancer-addresses'] ?? [],
      ...(schedulerConfig !== undefined && { schedulerConfig }),
      ...(policyConfigFile !== undefined && { policyConfigFile }),
    }
    return runCluster(terminal, { flags, controlPlane })
  },
}
