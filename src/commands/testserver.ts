/** `k8ts testserver`: a throwaway cluster for tests in any language. */
import { apiServerFlags } from '#/apiserver/flags.ts'
import { boolFlag, describeFlags, parseFlags, valueFlag, type FlagValues } from '#/base/flags.ts'
import type { ControlPlaneSettings } from '#/cluster.ts'
import type { Command } from '#/command-line/command.ts'
import { makeTemporaryFolder, nodePlatform, standardInputEnd } from '#/platform/node.ts'
import { controlPlaneOf, parseNodeCount } from './envtest/test-components.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const testserverFlags = {
  json: boolFlag('print one line of JSON when the cluster is ready, and nothing else'),
  controllers: boolFlag('run controllers (true)'),
  scheduler: boolFlag('run the scheduler (true)'),
  nodes: valueFlag('N', 'number of simulated nodes (1, or 0 without controllers)', {
    parse: parseNodeCount,
    what: 'a number from 0 to 9999',
  }),
  bind: clusterFlags.bind,
  port: { ...clusterFlags.port, help: 'port of the API server (default: a free port)' },
  v: clusterFlags.v,
}

const help = `Usage: k8ts testserver [FLAGS]

Runs a throwaway cluster for tests: API server, controllers, scheduler and simulated nodes, with all objects in memory
and the certificates and the administrator's kubeconfig in a temporary folder. The cluster stops when its standard
input is closed, therefore at the latest when the program that has started it ends, and on SIGTERM or ctrl-C. The
folder is removed then.

With --json, the only output is this line when the cluster is ready:
  {"kubeconfig":"/tmp/k8ts-Jx2a1b/admin.conf","server":"https://127.0.0.1:37651"}

${describeFlags(testserverFlags)}
The flags of kube-apiserver are accepted too, see k8ts apiserver --help.

Examples:
  k8ts testserver --json
      for a test program, which starts it, reads one line and closes its standard input at the end
  k8ts testserver --json --nodes 3
      the same with three nodes
  k8ts testserver --json --controllers=false --scheduler=false
      only the API server
  k8ts testserver
      a throwaway cluster for a terminal; ctrl-D stops it
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, { ...testserverFlags, ...apiServerFlags })
    const controlPlane = choose(flags)
    const inputEnd = standardInputEnd()
    const folder = await makeTemporaryFolder()
    const { files } = nodePlatform({ log: { level: 'warn', format: 'text' } })
    try {
      return await runCluster(terminal, {
        flags: { 'port': 0, ...flags, 'data-dir': folder, 'store': { type: 'memory' } },
        ...(controlPlane && { controlPlane }),
        output: flags.json ? 'json' : 'text',
        signal: inputEnd,
      })
    } finally {
      await files.remove(folder)
    }
  },
}

function choose(flags: FlagValues<typeof testserverFlags>): ControlPlaneSettings | undefined {
  const { controllers = true, scheduler = true, nodes = controllers ? 1 : 0 } = flags
  return controlPlaneOf({ controllers, scheduler, nodes })
}
