/** `k8ts console`: serves the console of a cluster, or prints a link to the one that `k8ts up` serves. */
import { basename, dirname, resolve } from 'node:path'
import { untilAborted } from '#/base/abort.ts'
import { describeFlags, parseFlags, valueFlag } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { kubeconfigPaths } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, environmentVariables, nodePlatform, terminationSignal } from '#/platform/node.ts'
import { clientFlags, kubeconfigPath } from './client-connection.ts'
import { requestConsoleLink } from './console/console-record.ts'
import { startConsole } from './console/start-console.ts'

const { kubeconfig, context, 'data-dir': dataDir } = clientFlags
const flags = {
  kubeconfig,
  context,
  'data-dir': dataDir,
  'port': valueFlag('N', 'port to serve the console at (default: a free one)', {
    parse: given => (/^\d{1,5}$/.test(given) && Number(given) < 65_536 ? Number(given) : undefined),
    what: 'a port',
  }),
}

const help = `Usage: k8ts console [FLAGS]

Prints a link to the console, a web page that shows a cluster live and acts with the rights of the kubeconfig. For a
cluster that k8ts up runs on this machine, the link is to the console that it serves. For any other Kubernetes cluster,
and with --context or --port, this command serves the console on 127.0.0.1 until ctrl-C. A link works once, within ten
minutes.

${describeFlags(flags)}
Examples:
  k8ts console
      a link to the console of the cluster that runs in ~/.k8ts
  k8ts console --kubeconfig ~/.kube/config --context staging
      serves the console of another cluster
  ssh -L 8443:127.0.0.1:8443 server k8ts console --port 8443
      the console of a server in the browser of this machine: both ends need the same port
`

/** The process exits within this time after SIGTERM or ctrl-C. */
const stopDeadlineMs = 3_000

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const choice = parseFlags(parameters, flags)
    const platform = nodePlatform({ log: { level: 'warn', format: 'text' } })
    const kubeconfig = await kubeconfigPath(platform.files, choice)
    if (choice.port === undefined && choice.context === undefined) {
      const folder = clusterFolder(kubeconfig)
      const link = folder && (await requestConsoleLink({ platform, connect: connectHttp, folder }))
      if (link !== undefined) {
        terminal.write(`console: ${link}\n`)
        return 0
      }
    }
    const { context, port = 0 } = choice
    const terminated = terminationSignal({ deadlineMs: stopDeadlineMs })
    await using server = await startConsole(platform, { kubeconfig, context, port })
    terminal.write(`console: ${server.newLink()}\nserving it until ctrl-C\n`)
    await untilAborted(terminated)
    return 0
  },
}

/** The data folder of a cluster has the kubeconfig of its administrator. Undefined for any other kubeconfig. */
function clusterFolder(explicitPath: string | undefined): string | undefined {
  const sources = { environment: environmentVariables(), workingFolder: resolve() }
  const [path, ...more] = kubeconfigPaths({ ...sources, ...(explicitPath && { explicitPath }) })
  return path !== undefined && more.length === 0 && basename(path) === 'admin.conf'
    ? dirname(path)
    : undefined
}
