/** `k8ts ingress`: runs only the Ingress controller with its reverse proxy. */
import { parseIp } from '#/api/net/ip.ts'
import { boolFlag, describeFlags, integerFlag, parseFlags, stringFlag, valueFlag } from '#/base/flags.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { ComponentClients, componentConnection } from '#/cluster/component-clients.ts'
import { runIngress } from '#/cluster/ingress-process.ts'
import type { Command } from '#/command-line/command.ts'
import {
  connectHttp,
  environmentVariables,
  machineNames,
  nodeCrypto,
  nodePlatform,
  nodeStreamProtocols,
  processUsage,
  terminationSignal,
} from '#/platform/node.ts'
import { resolve } from 'node:path'
import { file } from './component-flags.ts'
import { addresses } from './kubelet/flags.ts'
import { logLevel, verbosityFlag } from './verbosity.ts'

const ingressFlags = {
  'kubeconfig': file('how to reach the API server; in a pod its service account when absent'),
  'bind-address': valueFlag('ADDRESS', 'address to listen at (the first of the machine)', {
    parse: given => (parseIp(given) === undefined ? undefined : given),
    what: 'an IP address',
  }),
  'node-name': stringFlag('NAME', 'node with this address, which Gateways keep the addresses of clients by'),
  'http-port': integerFlag('N', 'port for requests in clear (80)'),
  'https-port': integerFlag('N', 'port for requests with TLS (443)'),
  'status-port': integerFlag('N', 'port for /metrics, /healthz and /readyz over HTTP (10254); 0 for none'),
  'publish-status-address': addresses('addresses for the status of Ingresses (the bind address)'),
  'access-log': boolFlag('write a line of JSON for each request to the standard output'),
  'drain-seconds': integerFlag('N', 'time for requests to finish after SIGTERM (25)'),
  ...verbosityFlag,
}

const help = `Usage: k8ts ingress [FLAGS]

Runs the Ingress controller: a reverse proxy for the Ingresses of the class k8ts. k8ts up starts it with the first
such Ingress; on other clusters it needs the rights of the service account kube-system/k8ts-ingress. Ends if a port
is taken.
docs/ingress.md describes annotations, limits and metrics.

${describeFlags(ingressFlags)}
Examples:
  k8ts ingress --kubeconfig ingress.conf --bind-address 192.0.2.1
      serves the Ingresses of a cluster at an address of this machine
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, ingressFlags)
    const drainMs = (flags['drain-seconds'] ?? drainSecondsUsual) * 1_000
    const platform = nodePlatform({ log: { level: logLevel(flags.v ?? 0), format: 'text' } })
    const signal = terminationSignal({ deadlineMs: drainMs + stopMarginMs })
    const at = { path: flags.kubeconfig, environment: environmentVariables(), workingFolder: resolve() }
    const settings = await componentConnection({ platform, ...at })
    const metrics = new MetricsRegistry()
    const name = 'k8ts-ingress'
    await using clients = new ComponentClients({ platform, connectHttp, name, settings, metrics })
    const address = flags['bind-address'] ?? machineNames()[1] ?? '127.0.0.1'
    const options = {
      platform,
      protocols: nodeStreamProtocols(),
      crypto: nodeCrypto(),
      client: await clients.main(),
      metrics,
      address,
      nodeName: flags['node-name'],
      httpPort: flags['http-port'] ?? 80,
      httpsPort: flags['https-port'] ?? 443,
      statusPort: flags['status-port'] ?? 10_254,
      publishAddresses: flags['publish-status-address'] ?? [address],
      drainMs,
      usage: processUsage,
      writeAccessLog: flags['access-log'] ? (text: string) => terminal.write(text) : undefined,
      onProgress: (line: string) => terminal.write(`${line}\n`),
    }
    await runIngress(options, signal)
    return 0
  },
}

const drainSecondsUsual = 25

/** After the drain the process ends in any case. */
const stopMarginMs = 3_000
