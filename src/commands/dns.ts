/** `k8ts dns`: runs only a DNS server of a cluster whose API server is reached by a kubeconfig. */
import { gitVersion } from '#/apiserver/discovery.ts'
import { describeFlags, integerFlag, parseFlags, stringFlag, UsageError, valueFlag } from '#/base/flags.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { parseIp } from '#/api/net/ip.ts'
import { ComponentClients, componentConnection } from '#/cluster/component-clients.ts'
import { runDns } from '#/cluster/dns-process.ts'
import type { Command } from '#/command-line/command.ts'
import {
  connectHttp,
  environmentVariables,
  machineNames,
  nodePlatform,
  processUsage,
  terminationSignal,
} from '#/platform/node.ts'
import { resolve } from 'node:path'
import { file } from './component-flags.ts'
import { addresses } from './kubelet/flags.ts'
import { componentStopDeadlineMs } from './run-component.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'
import manifest from '../../package.json' with { type: 'json' }

const dnsFlags = {
  'kubeconfig': file('how to reach the API server; in a pod its service account when absent'),
  'node-name': stringFlag('NAME', 'name of the node of this server (the host name)'),
  'bind-address': valueFlag('ADDRESS', 'address to serve at, which pods reach (the first of the machine)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an IP address',
  }),
  'port': integerFlag('N', 'port to serve at (53)'),
  'cluster-dns': addresses('cluster IPs of the service kube-system/kube-dns'),
  'cluster-domain': stringFlag('NAME', 'domain of the cluster (cluster.local)'),
  'resolv-conf': file('name servers of all other names (/etc/resolv.conf)'),
  ...verbosityFlag,
}

const help = `Usage: k8ts dns --cluster-dns ADDRESS [FLAGS]

Runs a DNS server of the cluster, the role of CoreDNS. It answers names of services and pods, and forwards other names.
It is an endpoint of the service kube-system/kube-dns, which k8ts init creates; several may run, each on a node of its
own, and one that has stopped leaves the endpoints within 20 seconds. Metrics, /health and /ready are served over HTTP
at port 9153 of the same address.

${describeFlags(dnsFlags)}
Examples:
  k8ts dns --kubeconfig dns.conf --bind-address 192.0.2.1 --cluster-dns 10.96.0.10
      answers queries at an address of this machine
`

const lameDuckMs = 3_000

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, dnsFlags)
    const { 'cluster-dns': clusterDns } = flags
    if (clusterDns === undefined) throw new UsageError('--cluster-dns is required')
    const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
    const signal = terminationSignal({ deadlineMs: componentStopDeadlineMs })
    const at = { path: flags.kubeconfig, environment: environmentVariables(), workingFolder: resolve() }
    const settings = await componentConnection({ platform, ...at })
    const metrics = new MetricsRegistry()
    await using clients = new ComponentClients({ platform, connectHttp, name: 'coredns', settings, metrics })
    const [hostname = 'node', address = '127.0.0.1'] = machineNames()
    const options = {
      platform,
      client: await clients.main(),
      nodeName: (flags['node-name'] ?? hostname).toLowerCase(),
      address: flags['bind-address'] ?? address,
      port: flags.port ?? 53,
      clusterDns,
      clusterDomain: flags['cluster-domain'] ?? 'cluster.local',
      resolvConf: flags['resolv-conf'] ?? '/etc/resolv.conf',
      lameDuckMs,
      version: gitVersion({ version: manifest.version }),
      usage: processUsage,
      onProgress: (line: string) => terminal.write(`${line}\n`),
    }
    await runDns(options, signal)
    return 0
  },
}
