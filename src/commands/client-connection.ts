/** The connection of a command to the cluster that the user works with, as kubectl finds it, with the user's rights. */
import { resolve } from 'node:path'
import { stringFlag } from '#/base/flags.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { kubeconfigPaths, loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { Clock, Files } from '#/platform/platform.ts'
import { connectHttp, environmentVariables, nodePlatform } from '#/platform/node.ts'
import { adminKubeconfig, dataFolder, dataFolderFlag } from './data-folder.ts'

/** Flags that select the cluster and the namespace. */
export const clientFlags = {
  namespace: {
    ...stringFlag('NAMESPACE', "namespace of the object (default: the kubeconfig's, or default)"),
    shorthand: 'n',
  },
  kubeconfig: stringFlag(
    'FILE',
    'kubeconfig of the cluster (default: KUBECONFIG, DIR/admin.conf or ~/.kube/config)',
  ),
  context: stringFlag('NAME', 'context of the kubeconfig'),
  ...dataFolderFlag,
}

export interface ClientChoice {
  readonly 'namespace'?: string
  readonly 'kubeconfig'?: string
  readonly 'context'?: string
  readonly 'data-dir'?: string
}

export interface ClientConnection extends AsyncDisposable {
  readonly client: Client
  readonly namespace: string
  readonly clock: Clock
}

export async function connectClient(choice: ClientChoice, userAgent: string): Promise<ClientConnection> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const environment = environmentVariables()
  const explicitPath = await kubeconfigPath(platform.files, choice)
  const sources = { environment, workingFolder: resolve(), ...(explicitPath && { explicitPath }) }
  const kubeconfig = await loadKubeconfig(platform, sources)
  const { context } = choice
  const settings = settingsOf(kubeconfig, context === undefined ? {} : { context })
  if (settings === undefined) {
    throw new Error(
      `no cluster in ${kubeconfigPaths(sources).join(', ') || 'the kubeconfig'}: set --kubeconfig or KUBECONFIG`,
    )
  }
  const transport = await openConnection({ platform, connect: connectHttp, settings, environment })
  return {
    client: clientOf({ platform, transport, userAgent }),
    namespace: choice.namespace ?? settings.namespace,
    clock: platform.clock,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

/** Without a choice, that of the cluster which `k8ts up` runs, if there is one. */
export async function kubeconfigPath(files: Files, choice: ClientChoice): Promise<string | undefined> {
  if (choice.kubeconfig !== undefined) return choice.kubeconfig
  const administrator = adminKubeconfig(dataFolder(choice))
  if (choice['data-dir'] !== undefined) return administrator
  if (environmentVariables()['KUBECONFIG']) return undefined
  return (await files.stat(administrator)) === undefined ? undefined : administrator
}
