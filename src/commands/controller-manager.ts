/** `k8ts controller-manager`: runs only the controllers, for a cluster whose API server is reached by a kubeconfig. */
import { abortable } from '#/base/abort.ts'
import { describeFlags, parseFlags, UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import { controllerManagerPart, controllerManagerPort } from '#/cluster/component-parts.ts'
import type { Command } from '#/command-line/command.ts'
import { ControllerManager } from '#/controllers/controller-manager.ts'
import type { Client } from '#/client/client.ts'
import { nodeCrypto, nodePlatform, terminationSignal, type Platform } from '#/platform/node.ts'
import { electionOf, readFlagFile, usualElection } from './component-flags.ts'
import { readControllerManagerConfiguration } from './controller-manager/configuration-file.ts'
import { controllersFromFlags } from './controller-manager/controllers-from-flags.ts'
import { controllerManagerFlags, type ControllerManagerFlags } from './controller-manager/flags.ts'
import { logLevel } from './verbosity.ts'
import { componentStopDeadlineMs, runComponent, type ComponentParts } from './run-component.ts'

const help = `Usage: k8ts controller-manager [FLAGS]

Runs the controllers as a process of their own, with the flags of kube-controller-manager. Several replicas may run: the
one that holds the lease acts, and another one takes over when it ends. Health and metrics are served over HTTPS at port
10257. SIGTERM or ctrl-C releases the lease and stops it; the exit code is 1 when the lease was lost.

${describeFlags(controllerManagerFlags)}
Examples:
  k8ts controller-manager --kubeconfig controller-manager.conf --use-service-account-credentials \\
      --root-ca-file pki/ca.crt --service-account-private-key-file pki/sa.key
      runs the controllers of a cluster, each with a service account of its own
  k8ts controller-manager --kubeconfig admin.conf --controllers '*,-node-lifecycle-controller' --leader-elect=false
      all but one of the controllers, one replica
`

const name = 'kube-controller-manager'

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const given = parseFlags(parameters, controllerManagerFlags)
    const platform = nodePlatform({ log: { level: logLevel(given.v ?? 0), format: 'text' } })
    const flags = { ...(await readConfiguration(platform, given.config)), ...given }
    const signal = terminationSignal({ deadlineMs: componentStopDeadlineMs })
    const election = electionOf(flags, usualElection(name))
    return runComponent({
      platform,
      terminal,
      name,
      flags,
      election,
      usualPort: controllerManagerPort,
      signal,
      component: async parts => {
        const { metrics, serverCa } = parts
        const crypto = nodeCrypto()
        const controllers = await controllersFromFlags(flags, { platform, crypto, serverCa })
        const clientFor = await controllerClients(flags, parts)
        const { client } = parts
        const manager = new ControllerManager({ platform, controllers, client, clientFor, metrics })
        const names = controllers.map(controller => controller.name)
        return checks => ({
          part: controllerManagerPart({ controllers: names, metrics, generic: genericOf(flags), checks }),
          run: async (ended, elected) => {
            const isElected = await abortable(elected, ended).then(
              () => true,
              () => false,
            )
            if (isElected) await manager.run(ended)
          },
        })
      },
    })
  },
}

async function readConfiguration(
  platform: Platform,
  path: string | undefined,
): Promise<ControllerManagerFlags> {
  if (path === undefined) return {}
  const text = await readFlagFile(platform.files, 'config', path)
  try {
    return readControllerManagerConfiguration(text)
  } catch (cause) {
    throw new UsageError(`--config ${path}: ${messageOf(cause)}`, { cause })
  }
}

async function controllerClients(
  flags: ControllerManagerFlags,
  { client, clients }: ComponentParts,
): Promise<(account: string) => Client> {
  return flags['use-service-account-credentials'] ? clients.serviceAccounts(client) : () => client
}

function genericOf(flags: ControllerManagerFlags): Readonly<Record<string, unknown>> {
  const { 'bind-address': Address = '0.0.0.0', 'secure-port': Port = controllerManagerPort } = flags
  const { 'leader-elect': leaderElect = true } = flags
  return { Address, Port, LeaderElection: { leaderElect } }
}
