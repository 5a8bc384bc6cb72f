import { clientOf, type Client } from '#/client/client.ts'
import { inClusterConfig, openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { contextOf, namesIn, settingsOf, type KubeconfigOverrides } from '#/kubeconfig/kubeconfig.ts'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { isObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import type { Transport } from '#/client/transport.ts'
import type { HttpClient } from '#/platform/http-client.ts'
import { messageOf } from '#/base/message-of.ts'
import { readAll } from '#/base/read-all.ts'
import { CredentialsError } from '#/kubeconfig/credentials.ts'
import { clientGitVersion } from '../client-version.ts'
import type { Factory, Machine } from '../factory.ts'

export interface ClusterConnection extends AsyncDisposable {
  readonly settings: ConnectionSettings
  readonly client: Client
  /** Of a request, if `--request-timeout` is given. */
  readonly timeoutMs?: number
  /** For exec, attach and port-forward. */
  readonly http: Pick<HttpClient, 'upgrade'>
}

/** Without a kubeconfig, in a pod the cluster of the pod, elsewhere the insecure port of old API servers. */
const defaultServer = 'http://localhost:8080'

const userAgent = `kubectl/${clientGitVersion} (linux/amd64)`

export async function connectCluster(factory: Factory): Promise<ClusterConnection> {
  const settings = await withAllowedPlugin(await connectionSettings(factory), factory.machine)
  const { platform, connectHttp, environment, streams } = factory.machine
  const transport = await openConnection({ platform, connect: connectHttp, settings, environment, streams })
  const timeoutMs = requestTimeoutMs(factory.globalFlags['request-timeout'])
  const level = factory.globalFlags.v ?? 0
  const client = clientOf({
    platform,
    transport: level < 6 ? transport : await withRequestLog(factory, transport, settings),
    userAgent,
    onWarning: text => factory.warn(text),
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
  if (factory.globalFlags['match-server-version']) await matchServerVersion(client)
  return {
    settings,
    client,
    ...(timeoutMs !== undefined && { timeoutMs }),
    http: withUserAgent(transport),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

/** Throws CredentialsError if the credential plugin is not allowed. */
async function withAllowedPlugin(
  settings: ConnectionSettings,
  machine: Machine,
): Promise<ConnectionSettings> {
  const { user } = settings
  if (user.exec === undefined || machine.pluginPolicy === undefined) return settings
  const { allowedPlugin } = await import('../kuberc/plugin-policy.ts')
  const [program = '', ...args] = user.exec.command
  try {
    const path = await allowedPlugin(machine.pluginPolicy, program, machine)
    return { ...settings, user: { ...user, exec: { ...user.exec, command: [path, ...args] } } }
  } catch (error) {
    throw new CredentialsError(`getting credentials: ${messageOf(error)}`, { cause: error })
  }
}

const responseBytesMax = 1_000_000

/** Throws Error if the server has another version than this client, apart from the build. */
async function matchServerVersion(client: Client): Promise<void> {
  const response = await client.raw({ method: 'GET', path: '/version' })
  const version = parseJson(await readAll(response.bytes(), responseBytesMax))
  const server = isObject(version) && typeof version['gitVersion'] === 'string' ? version['gitVersion'] : ''
  if (withoutBuild(server) === withoutBuild(clientGitVersion)) return
  throw new Error(`server version (${server}) differs from client version (${clientGitVersion})`)
}

function withoutBuild(version: string): string {
  return version.replace(/\+.*$/, '')
}

function withUserAgent(http: Pick<HttpClient, 'upgrade'>): Pick<HttpClient, 'upgrade'> {
  const upgrade: HttpClient['upgrade'] = ({ headers, ...request }) =>
    http.upgrade({ ...request, headers: { 'user-agent': userAgent, ...headers } })
  return { upgrade }
}

async function withRequestLog(
  { machine, globalFlags }: Factory,
  transport: Transport,
  { server }: ConnectionSettings,
): Promise<Transport> {
  const { loggingTransport } = await import('./request-log.ts')
  const { platform, streams } = machine
  return loggingTransport({ transport, server, level: globalFlags.v ?? 0, clock: platform.clock, streams })
}

async function connectionSettings(factory: Factory): Promise<ConnectionSettings> {
  const { platform, environment } = factory.machine
  const [kubeconfig, overrides] = await Promise.all([factory.kubeconfig(), factory.overrides()])
  const settings = settingsOf(kubeconfig, overrides)
  if (settings !== undefined) {
    if (hasFiles(settings)) {
      const { checkFiles } = await import('./check-files.ts')
      await checkFiles(platform, settings, namesIn(contextOf(kubeconfig, overrides), overrides))
    }
    return settings
  }
  // The token of the pod is not sent to another server.
  const isOtherServer = Boolean(overrides.cluster?.server)
  const inCluster = isOtherServer ? undefined : await inClusterConfig(platform, environment)
  if (inCluster !== undefined) {
    const given = settingsOf(kubeconfig, withServer(inCluster.server, overrides))!
    return overridden(inCluster, given, overrides.namespace)
  }
  return settingsOf(kubeconfig, withServer(defaultServer, overrides))!
}

function withServer(server: string, overrides: KubeconfigOverrides): KubeconfigOverrides {
  return { ...overrides, cluster: { server, ...overrides.cluster } }
}

/** The settings of the pod, unless flags give others. */
function overridden(
  inCluster: ConnectionSettings,
  given: ConnectionSettings,
  namespace = '',
): ConnectionSettings {
  const { token, basic, certificate, ...user } = given.user
  const hasCredentials = token !== undefined || basic !== undefined || certificate !== undefined
  return {
    ...inCluster,
    ...given,
    namespace: namespace || inCluster.namespace,
    user: hasCredentials ? given.user : { ...inCluster.user, ...user },
  }
}

function hasFiles({ ca, user }: ConnectionSettings): boolean {
  const { certificate, token } = user
  return [ca, certificate?.cert, certificate?.key, token].some(
    source => source !== undefined && 'file' in source,
  )
}

/** The namespace of the context, without connecting. */
export async function namespaceOf(factory: Factory): Promise<string> {
  return (await connectionSettings(factory)).namespace
}

/** A number without a unit is in seconds. Undefined for no timeout. */
function requestTimeoutMs(text: string | undefined): number | undefined {
  if (!text) return undefined
  const timeoutMs = /^\d+$/.test(text) ? Number(text) * 1000 : tryParseDurationMs(text)
  if (timeoutMs === undefined) {
    throw new Error(
      'Invalid timeout value. Timeout must be a single integer in seconds, ' +
        'or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)',
    )
  }
  return timeoutMs || undefined
}
