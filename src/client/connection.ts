/**
 * Opens a connection to a cluster from settings: those of a kubeconfig, or the in-cluster configuration of a
 * pod.
 */
import { credentialsOf, readContent, type ConnectionSettings } from '#/kubeconfig/connection-settings.ts'
import type { PluginStreams } from '#/kubeconfig/exec-credentials.ts'
import type { Environment } from '#/kubeconfig/proxy-environment.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { HttpTransport } from './http.ts'
import type { RestClientHostMetrics } from './rest-client-metrics.ts'

export type { ConnectionSettings, ExecSettings, UserSettings } from '#/kubeconfig/connection-settings.ts'

export interface ConnectionOptions {
  readonly platform: Platform
  readonly connect: HttpConnect
  readonly settings: ConnectionSettings
  readonly metrics?: RestClientHostMetrics | undefined
  /** Lets a credential plugin ask the user. */
  readonly streams?: PluginStreams
  /** Variables that select a proxy, if the settings do not. */
  readonly environment?: Environment
}

export async function openConnection({
  platform,
  connect,
  settings,
  metrics,
  streams,
  environment = {},
}: ConnectionOptions): Promise<HttpTransport> {
  const { server: url, ca, namespace: _namespace, user, ...server } = settings
  const caContent = ca === undefined ? undefined : await readContent(platform, ca)
  const proxyOf = await proxiesOf(environment)
  const proxy = settings.proxy ?? proxyOf?.(url)
  return new HttpTransport({
    platform,
    connect,
    server: {
      url,
      ...server,
      ...(caContent !== undefined && { ca: caContent }),
      ...(proxy !== undefined && { proxy }),
    },
    credentials: credentialsOf(platform, user, {
      connectHttp: connect,
      ...(streams && { streams }),
      ...(proxyOf && { proxyOf }),
    }),
    metrics,
  })
}

/** Undefined without a proxy for any server, which is the rule, and then needs no code. */
async function proxiesOf(
  environment: Environment,
): Promise<((server: string) => string | undefined) | undefined> {
  if (!proxyVariables.some(name => environment[name])) return undefined
  const { proxyFromEnvironment } = await import('#/kubeconfig/proxy-environment.ts')
  return server => proxyFromEnvironment(server, environment)
}

const proxyVariables: readonly string[] = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** In-cluster configuration; undefined outside of a pod. */
export async function inClusterConfig(
  platform: Platform,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ConnectionSettings | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  const token = `${accountFolder}/token`
  if (!host || !port || (await platform.files.stat(token)) === undefined) return undefined
  const ca = `${accountFolder}/ca.crt`
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ...((await platform.files.stat(ca)) !== undefined && { ca: { file: ca } }),
    namespace: environment['POD_NAMESPACE'] || (await accountNamespace(platform)),
    user: { token: { file: token } },
  }
}

async function accountNamespace({ files }: Platform): Promise<string> {
  const path = `${accountFolder}/namespace`
  if ((await files.stat(path)) === undefined) return 'default'
  return (
    Buffer.from(await files.read(path))
      .toString()
      .trim() || 'default'
  )
}
