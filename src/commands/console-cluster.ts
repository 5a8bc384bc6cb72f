/** The cluster that a console shows, with the credentials of a kubeconfig. */
import { resolve } from 'node:path'
import { apiError } from '#/api/errors.ts'
import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import type { ConsoleCluster } from '#/console/console-server.ts'
import { contextOf, loadKubeconfig, namesIn, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, environmentVariables, type Platform } from '#/platform/node.ts'

export interface ConsoleClusterChoice {
  /** Absent: as the environment selects it. */
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
}

/** The cluster of a context, as its user. */
export async function connectConsoleCluster(
  platform: Platform,
  { kubeconfig: explicitPath, context }: ConsoleClusterChoice,
): Promise<ConsoleCluster> {
  const environment = environmentVariables()
  const sources = { environment, workingFolder: resolve(), ...(explicitPath && { explicitPath }) }
  const kubeconfig = await loadKubeconfig(platform, sources)
  const overrides = context === undefined ? {} : { context }
  const settings = settingsOf(kubeconfig, overrides)
  if (settings === undefined) throw new Error('the kubeconfig has no cluster: set --kubeconfig or KUBECONFIG')
  const { userName, clusterName } = namesIn(contextOf(kubeconfig, overrides), overrides)
  const transport = await openConnection({ platform, connect: connectHttp, settings, environment })
  return {
    transport,
    user: userName,
    cluster: clusterName,
    namespace: settings.namespace,
    async explain({ kind, name, namespace = settings.namespace }) {
      const { explain, UnknownKindError } = await import('#/why/why.ts')
      const client = clientOf({ platform, transport, userAgent: 'k8ts-console' })
      try {
        return await explain(client, { kind, name, namespace }, { clock: platform.clock })
      } catch (error) {
        if (!(error instanceof UnknownKindError)) throw error
        throw apiError('NotFound', error.message)
      }
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}
