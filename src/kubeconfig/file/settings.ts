import { dirname, resolve } from 'node:path'
import { quote } from '#/api/text/quote.ts'
import type { ContentSource, Impersonation } from '../credentials.ts'
import type { ConnectionSettings, ExecSettings, UserSettings } from '../connection-settings.ts'
import type { ClusterEntry, ContextEntry, ExecEntry, UserEntry } from './file-format.ts'
import { ContextNotFoundError, InvalidKubeconfigError } from '../kubeconfig-error.ts'
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

/**
 * Undefined when no server is configured. Throws InvalidKubeconfigError when the settings contradict each other. A user
 * that does not exist has no credentials, unless an override names it.
 */
export function settingsOf(
  kubeconfig: Kubeconfig,
  overrides: KubeconfigOverrides = {},
): ConnectionSettings | undefined {
  const context = contextOf(kubeconfig, overrides)
  const { clusterName, userName } = namesIn(context, overrides)
  const cluster = overridden(entryOf(kubeconfig.clusters, clusterName), overrides.cluster)
  if (overrides.userName && !overrides.clusterName) rejectUnknownUser(kubeconfig, userName)
  const user = overridden(entryOf(kubeconfig.users, userName), overrides.user)
  const { server } = cluster
  if (!server) {
    if (clusterName === '') return undefined
    throw new InvalidKubeconfigError([`no server found for cluster ${quote(clusterName)}`])
  }
  const proxy = cluster['proxy-url'] ? proxyOf(cluster['proxy-url'], clusterName) : undefined
  if (overrides.userName) rejectUnknownUser(kubeconfig, userName)
  const problems = [...clusterProblems(cluster, clusterName), ...userProblems(user, userName)]
  if (problems.length > 0) throw new InvalidKubeconfigError(problems)
  const ca = contentOf(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const insecure = cluster['insecure-skip-tls-verify'] === true
  if (insecure && ca) {
    throw new InvalidKubeconfigError([
      'specifying a root certificates file with the insecure flag is not allowed',
    ])
  }
  return {
    server: server.includes('://') ? server : `http://${server}`,
    ...(ca && { ca }),
    ...(insecure && { insecureSkipVerify: true }),
    ...(cluster['tls-server-name'] && { serverName: cluster['tls-server-name'] }),
    ...(cluster['disable-compression'] && { disableCompression: true }),
    ...(proxy !== undefined && { proxy }),
    namespace: overrides.namespace || context.namespace || 'default',
    user: userSettings(user, { userName, cluster, file: kubeconfig.users.get(userName)?.file }),
  }
}

/** Names of the cluster and the user that a context selects with the overrides. */
export function namesIn(
  context: ContextEntry,
  overrides: KubeconfigOverrides,
): { readonly clusterName: string; readonly userName: string } {
  return {
    clusterName: overrides.clusterName ?? context.cluster ?? '',
    userName: overrides.userName ?? context.user ?? '',
  }
}

/** Throws ContextNotFoundError. */
export function contextOf(kubeconfig: Kubeconfig, overrides: KubeconfigOverrides): ContextEntry {
  const name = overrides.context ?? kubeconfig.currentContext
  if (name === '') return {}
  const context = kubeconfig.contexts.get(name)
  if (!context) throw new ContextNotFoundError(name, [...kubeconfig.contexts.keys()])
  return context.value
}

function rejectUnknownUser({ users }: Kubeconfig, name: string): void {
  if (!users.has(name)) throw new InvalidKubeconfigError([`auth info ${quote(name)} does not exist`])
}

function entryOf<T extends object>(entries: ReadonlyMap<string, Located<T>>, name: string): T {
  const entry = entries.get(name)
  return entry ? withAbsolutePaths(entry) : ({} as T)
}

function clusterProblems(cluster: ClusterEntry, name: string): readonly string[] {
  return cluster['certificate-authority'] && cluster['certificate-authority-data']
    ? [
        `certificate-authority-data and certificate-authority are both specified for ${name}. ` +
          'certificate-authority-data will override.',
      ]
    : []
}

function userProblems(user: UserEntry, name: string): readonly string[] {
  const { 'client-certificate': certificate, 'client-certificate-data': certificateData } = user
  const { 'client-key': key, 'client-key-data': keyData, exec } = user
  const hasCertificate = certificate || certificateData
  const methods = [...(user.token ? ['token'] : []), ...(user.username || user.password ? ['basicAuth'] : [])]
  const { 'as-uid': uid, 'as-groups': groups = [], 'as-user-extra': extra = {} } = user
  const impersonates = uid || groups.length > 0 || Object.keys(extra).length > 0
  const problems = [
    certificate &&
      certificateData &&
      `client-cert-data and client-cert are both specified for ${name}. client-cert-data will override.`,
    hasCertificate &&
      key &&
      keyData &&
      `client-key-data and client-key are both specified for ${name}; client-key-data will override`,
    hasCertificate &&
      !key &&
      !keyData &&
      `client-key-data or client-key must be specified for ${name} to use the clientCert authentication method.`,
    ...(exec ? execProblems(exec, name) : []),
    exec &&
      user['auth-provider'] &&
      `authProvider cannot be provided in combination with an exec plugin for ${name}`,
    methods.length > 1 &&
      `more than one authentication method found for ${name}; found [${methods.join(' ')}], only one is allowed`,
    impersonates &&
      !user.as &&
      `requesting uid, groups or user-extra for ${name} without impersonating a user`,
  ]
  return problems.filter(problem => typeof problem === 'string' && problem !== '') as readonly string[]
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

const proxySchemes: readonly string[] = ['http:', 'https:', 'socks5:']

function proxyOf(text: string, clusterName: string): string {
  const invalid = `invalid 'proxy-url' ${quote(text)} for cluster ${quote(clusterName)}`
  if (!URL.canParse(text)) throw new InvalidKubeconfigError([`${invalid}: could not parse: ${text}`])
  const { protocol } = new URL(text)
  if (proxySchemes.includes(protocol)) return text
  const problem = `unsupported scheme ${quote(protocol.slice(0, -1))}, must be http, https, or socks5`
  throw new InvalidKubeconfigError([`${invalid}: ${problem}`])
}

interface UserContext {
  readonly userName: string
  readonly cluster: ClusterEntry
  /** The file that has the entry of the user. */
  readonly file: string | undefined
}

function userSettings(user: UserEntry, { userName, cluster, file }: UserContext): UserSettings {
  const { username, password, exec, 'auth-provider': provider } = user
  const token = user.tokenFile ? { file: user.tokenFile } : user.token ? { data: user.token } : undefined
  const cert = contentOf(user['client-certificate-data'], user['client-certificate'])
  const key = contentOf(user['client-key-data'], user['client-key'])
  const impersonate = impersonationOf(user)
  return {
    ...(cert && key && { certificate: { cert, key } }),
    ...(token && { token }),
    ...(username && { basic: { username, password: password ?? '' } }),
    ...(exec && !token && !username && { exec: execSettings(exec, cluster) }),
    ...(provider && {
      authProvider: {
        name: provider.name ?? '',
        config: provider.config ?? {},
        userName,
        ...(file !== undefined && { file }),
      },
    }),
    ...(impersonate && { impersonate }),
  }
}

function impersonationOf(user: UserEntry): Impersonation | undefined {
  const { 'as': username, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user
  if (username) return { username, ...(uid && { uid }), ...(groups && { groups }), ...(extra && { extra }) }
  return undefined
}

const execVersions: readonly string[] = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]
const interactiveModes: readonly string[] = ['Never', 'IfAvailable', 'Always']

/** Plugins of the beta version may leave out the mode. */
function interactiveModeOf({ apiVersion, interactiveMode }: ExecEntry): string {
  return interactiveMode || (apiVersion === execVersions[1] ? 'IfAvailable' : '')
}

function execProblems(exec: ExecEntry, name: string): readonly string[] {
  const { apiVersion = '', command = '', env = [] } = exec
  const purpose = `must be specified for ${name} to use exec authentication plugin`
  const mode = interactiveModeOf(exec)
  const invalidMode = mode !== '' && !interactiveModes.includes(mode)
  return [
    ...(command === '' ? [`command ${purpose}`] : []),
    ...(apiVersion === '' ? [`apiVersion ${purpose}`] : []),
    ...(env.some(variable => !variable.name) ? [`env variable name ${purpose}`] : []),
    ...(mode === '' ? [`interactiveMode ${purpose}`] : []),
    ...(invalidMode ? [`invalid interactiveMode for ${name}: ${quote(mode)}`] : []),
    ...(apiVersion !== '' && !execVersions.includes(apiVersion)
      ? [`exec plugin: invalid apiVersion ${quote(apiVersion)}`]
      : []),
  ]
}

function execSettings(exec: ExecEntry, cluster: ClusterEntry): ExecSettings {
  const { apiVersion = '', command = '', env = [], args = [] } = exec
  return {
    apiVersion,
    command: [command, ...args],
    environment: Object.fromEntries(env.map(({ name = '', value = '' }) => [name, value])),
    interactiveMode: interactiveModeOf(exec) as ExecSettings['interactiveMode'],
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
