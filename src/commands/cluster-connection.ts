/** The connection of a command to a cluster, by a kubeconfig. */
import { resolve } from 'node:path'
import { stringFlag } from '#/base/flags.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { readContent } from '#/kubeconfig/connection-settings.ts'
import { connectHttp, environmentVariables, type Platform } from '#/platform/node.ts'
import { adminKubeconfig, dataFolder, dataFolderFlag } from './data-folder.ts'

/** Flags that select a cluster: a kubeconfig, or the administrator's of a data directory. */
export const connectionFlags = {
  kubeconfig: stringFlag('FILE', "kubeconfig of the cluster (default: the administrator's, DIR/admin.conf)"),
  ...dataFolderFlag,
}

export interface ClusterConnection extends AsyncDisposable {
  readonly client: Client
  /** The URL of the API server. */
  readonly server: string
  /** PEM; empty when the kubeconfig has no certificate authority. */
  readonly caCertificates: string
}

export interface ClusterChoice {
  readonly 'kubeconfig'?: string
  readonly 'data-dir'?: string
  /** The URL of another API server of the same cluster than that of the kubeconfig. */
  readonly 'server'?: string
}

export async function connectCluster(platform: Platform, flags: ClusterChoice): Promise<ClusterConnection> {
  const explicitPath = flags.kubeconfig ?? adminKubeconfig(dataFolder(flags))
  const sources = { environment: environmentVariables(), workingFolder: resolve(), explicitPath }
  const found = settingsOf(await loadKubeconfig(platform, sources))
  if (found === undefined) throw new Error(`${explicitPath} has no cluster: set --kubeconfig or --data-dir`)
  const { server = found.server } = flags
  const settings = { ...found, server }
  const { ca } = settings
  const caCertificates = ca === undefined ? '' : Buffer.from(await readContent(platform, ca)).toString()
  const transport = await openConnection({ platform, connect: connectHttp, settings })
  const client = clientOf({ platform, transport, userAgent: 'k8ts' })
  return {
    client,
    server,
    caCertificates,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}
