import { dirname, resolve } from 'node:path'
import type { ContentSource, Impersonation } from '../credentials.ts'
import type { ConnectionSettings, ExecSettings, UserSettings } from '../connection-settings.ts'
import type { ClusterEntry, ContextEntry, ExecEntry, UserEntry } from './file-format.ts'
import type { Kubeconfig, Located } from './merge.ts'

/** Command line overrides of the kubeconfig. Paths are absolute. */
export interface KubeconfigOverrides {
  readonly context?: string
  readonly namespace?: string
  /** Name of the cluster entry to use; `userName` is that of the user entry. */
  readonly clusterName?: string
  readonly userName?: string
  readonly cluster?: ClusterEntry
  readonly user?: UserEntry
}

/** Undefined when no server is configured. Throws Error when the settings contradict each other. */
export function settingsOf(
  kubeconfig: Kubeconfig,
  overrides: KubeconfigOverrides = {},
): ConnectionSettings | undefined {
  const context = contextOf(kubeconfig, overrides)
  const clusterName = overrides.clusterName ?? context.cluster ?? ''
  const userName = overrides.userName ?? context.user ?? ''
  const cluster = overridden(entryOf('cluster', kubeconfig.clusters, clusterName), overrides.cluster)
  const user = overridden(entryOf('user', kubeconfig.users, userName), overrides.user)
  const { server } = cluster
  if (!server) {
    if (clusterName === '') return undefined
    throw new Error(`cluster ${clusterName} has no server`)
  }
  rejectIf(cluster['proxy-url'], `cluster ${clusterName}: proxy-url is not supported`)
  const ca = contentOf(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const insecure = cluster['insecure-skip-tls-verify'] === true
  rejectIf(
    insecure && ca,
    `cluster ${clusterName}: certificate-authority and insecure-skip-tls-verify are mutually exclusive`,
  )
  return {
    server: server.includes('://') ? server : `http://${server}`,
    ...(ca && { ca }),
    ...(insecure && { insecureSkipVerify: true }),
    ...(cluster['tls-server-name'] && { serverName: cluster['tls-server-name'] }),
    ...(cluster['disable-compression'] && { disableCompression: true }),
    namespace: overrides.namespace || context.namespace || 'default',
    user: userSettings(user, { userName, cluster }),
  }
}

function contextOf(kubeconfig: Kubeconfig, overrides: KubeconfigOverrides): ContextEntry {
  const name = overrides.context ?? kubeconfig.currentContext
  if (name === '') return {}
  const context = kubeconfig.contexts.get(name)
  if (!context) throw new Error(`context ${name} does not exist: it is in none of the kubeconfig files`)
  return context.value
}

function entryOf<T extends object>(what: string, entries: ReadonlyMap<string, Located<T>>, name: string): T {
  if (name === '') return {} as T
  const entry = entries.get(name)
  if (!entry) throw new Error(`${what} ${name} does not exist: it is in none of the kubeconfig files`)
  return withAbsolutePaths(entry)
}

const pathFields: ReadonlySet<string> = new Set([
  'certificate-authority',
  'client-certificate',
  'client-key',
  'tokenFile',
])

/** Resolves paths, including that of an exec plugin, against the folder of the file that contains them. */
function withAbsolutePaths<T extends object>({ value, file }: Located<T>): T {
  const absolute = (path: string): string => resolve(dirname(file), path)
  const entries = Object.entries(value as Record<string, unknown>).map(([name, each]) => {
    if (pathFields.has(name) && each) return [name, absolute(each as string)]
    const { command } = (name === 'exec' ? each : {}) as ExecEntry
    return [name, command?.includes('/') ? { ...(each as ExecEntry), command: absolute(command) } : each]
  })
  return Object.fromEntries(entries) as T
}

/** Fields that exclude each other: an override of one hides the others. */
const alternatives: readonly (readonly string[])[] = [
  ['certificate-authority', 'certificate-authority-data', 'insecure-skip-tls-verify'],
  ['client-certificate', 'client-certificate-data'],
  ['client-key', 'client-key-data'],
  ['token', 'tokenFile', 'username', 'password', 'exec', 'auth-provider'],
]

function overridden<T extends object>(entry: T, override: T | undefined): T {
  if (!override) return entry
  const hidden = new Set(alternatives.filter(names => names.some(name => name in override)).flat())
  return { ...Object.fromEntries(Object.entries(entry).filter(([name]) => !hidden.has(name))), ...override }
}

function userSettings(
  user: UserEntry,
  { userName, cluster }: { userName: string; cluster: ClusterEntry },
): UserSettings {
  const { username, password, exec } = user
  rejectIf(
    user['auth-provider'],
    `user ${userName}: auth-provider is no longer supported, use an exec plugin`,
  )
  const token = user.tokenFile ? { file: user.tokenFile } : user.token ? { data: user.token } : undefined
  rejectIf(token && username, `user ${userName}: token and username are mutually exclusive`)
  const cert = contentOf(user['client-certificate-data'], user['client-certificate'])
  const key = contentOf(user['client-key-data'], user['client-key'])
  rejectIf(!cert !== !key, `user ${userName}: client-certificate and client-key are required together`)
  const impersonate = impersonationOf(user, userName)
  return {
    ...(cert && key && { certificate: { cert, key } }),
    ...(token && { token }),
    ...(username && { basic: { username, password: password ?? '' } }),
    ...(exec && !token && !username && { exec: execSettings(exec, { userName, cluster }) }),
    ...(impersonate && { impersonate }),
  }
}

function impersonationOf(user: UserEntry, userName: string): Impersonation | undefined {
  const { 'as': username, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user
  if (username) return { username, ...(uid && { uid }), ...(groups && { groups }), ...(extra && { extra }) }
  rejectIf(uid || groups || extra, `user ${userName}: as-uid, as-groups and as-user-extra require as`)
  return undefined
}

const execVersions: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]
const interactiveModes: readonly string[] = ['Never', 'IfAvailable', 'Always']

function execSettings(
  exec: ExecEntry,
  { userName, cluster }: { userName: string; cluster: ClusterEntry },
): ExecSettings {
  const { apiVersion = '', command = '', env = [], args = [] } = exec
  const plugin = `exec plugin of user ${userName}`
  rejectIf(command === '', `${plugin} has no command`)
  rejectIf(
    !execVersions.includes(apiVersion),
    `${plugin} has an unsupported apiVersion ${apiVersion}: use ${execVersions[0]}`,
  )
  const mode = exec.interactiveMode ?? (apiVersion === execVersions[0] ? '' : 'IfAvailable')
  rejectIf(
    !interactiveModes.includes(mode),
    `${plugin} needs an interactiveMode: ${interactiveModes.join(', ')}`,
  )
  return {
    apiVersion,
    command: [command, ...args],
    environment: Object.fromEntries(env.map(({ name = '', value = '' }) => [name, value])),
    interactiveMode: mode as ExecSettings['interactiveMode'],
    ...(exec.installHint && { installHint: exec.installHint }),
    ...(exec.provideClusterInfo && { cluster: clusterInfo(cluster) }),
  }
}

/** Cluster information for an exec plugin, with the value of the reserved extension as `config`. */
function clusterInfo({ extensions = [], ...cluster }: ClusterEntry): Readonly<Record<string, unknown>> {
  const config = extensions.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension
  return { ...cluster, ...(config !== undefined && { config }) }
}

function contentOf(data: string | undefined, file: string | undefined): ContentSource | undefined {
  if (data) return { data: Buffer.from(data, 'base64') }
  return file ? { file } : undefined
}

function rejectIf(isWrong: unknown, message: string): void {
  if (isWrong) throw new Error(`cannot use the kubeconfig: ${message}`)
}
