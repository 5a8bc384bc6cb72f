/** The environment of an operator that runs as a process of its own, in a pod or on a developer's machine. */
import { resolve } from 'node:path'
import { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf } from '#/client/client.ts'
import { inClusterConfig, openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { RestClientMetrics } from '#/client/rest-client-metrics.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import {
  connectHttp,
  environmentVariables,
  machineNames,
  nodeCrypto,
  nodePlatform,
  serveHttp,
  terminationSignal,
} from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import type { OperatorContext } from './operator.ts'

/** Below the usual termination grace period of a pod. */
const stopDeadlineMs = 25_000

/** Rejects if the environment has no cluster. */
export async function runOnMachine(
  userAgent: string,
  run: (context: OperatorContext) => Promise<void>,
): Promise<void> {
  const platform = nodePlatform({ log: { level: 'info', format: 'text' } })
  const settings = await connectionSettings(platform)
  const registry = new MetricsRegistry()
  const metrics = new RestClientMetrics(registry).forHost(new URL(settings.server).host)
  await using transport = await openConnection({ platform, connect: connectHttp, settings, metrics })
  const [hostName = userAgent] = machineNames()
  await run({
    client: clientOf({ platform, transport, userAgent, metrics }),
    platform,
    signal: terminationSignal({ deadlineMs: stopDeadlineMs }),
    namespace: settings.namespace ?? 'default',
    hostName,
    metrics: registry,
    machine: {
      serveHttp,
      crypto: nodeCrypto(),
      onListening: address => platform.log.info('Serving health, metrics and webhooks', { ...address }),
    },
  })
}

/** Precedence as in controller-runtime: `KUBECONFIG`, the pod's service account, the user's kubeconfig. */
async function connectionSettings(platform: Platform): Promise<ConnectionSettings> {
  const environment = environmentVariables()
  const fromKubeconfig = async (): Promise<ConnectionSettings | undefined> => {
    return settingsOf(await loadKubeconfig(platform, { environment, workingFolder: resolve() }))
  }
  const settings = environment['KUBECONFIG']
    ? await fromKubeconfig()
    : ((await inClusterConfig(platform, environment)) ?? (await fromKubeconfig()))
  if (settings === undefined) {
    throw new Error('no cluster is configured: set KUBECONFIG, or run in a pod with a service account')
  }
  return settings
}
