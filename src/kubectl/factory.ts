/**
 * The connection of a command to its cluster, opened on first use: kubeconfig with the overrides of the global flags,
 * client, discovery. Commands that need no cluster open nothing.
 */
import type { Client } from '#/client/client.ts'
import type { KubeconfigOverrides, KubeconfigSources, Kubeconfig } from '#/kubeconfig/kubeconfig.ts'
import type { ConnectionSettings } from '#/kubeconfig/connection-settings.ts'
import type { ServeLocalHttp } from '#/platform/http.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ClusterConnection } from './config/connection.ts'
import type { RestMapper } from './discovery/rest-mapper.ts'
import type { GlobalFlags } from './global-flags.ts'
import type { PluginPolicy } from './kuberc/plugin-policy.ts'
import type { ResourceClient } from './resource/resource-client.ts'

/** The machine that kubectl runs on. */
export interface Machine {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  readonly serveLocalHttp: ServeLocalHttp
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Base of relative paths. */
  readonly workingFolder: string
  readonly temporaryFolder: string
  readonly streams: IOStreams
  /** Which credential plugins may run, by the preferences of the user. */
  readonly pluginPolicy?: PluginPolicy
}

/** The namespace of a command; `isExplicit` if `--namespace` was given. */
export interface CommandNamespace {
  readonly namespace: string
  readonly isExplicit: boolean
}

export class Factory implements AsyncDisposable {
  readonly machine: Machine
  readonly globalFlags: GlobalFlags
  /** Number of warnings that the server has returned. */
  #warnings = 0
  #readParameters: Readonly<Record<string, string>> = {}
  #kubeconfig: Promise<Kubeconfig> | undefined
  #connection: Promise<ClusterConnection> | undefined
  #mapper: Promise<RestMapper> | undefined
  #resources: Promise<ResourceClient> | undefined

  constructor(machine: Machine, globalFlags: GlobalFlags) {
    this.machine = machine
    this.globalFlags = globalFlags
  }

  get warnings(): number {
    return this.#warnings
  }

  kubeconfigSources(): KubeconfigSources {
    const { environment, workingFolder } = this.machine
    const { kubeconfig } = this.globalFlags
    return { environment, workingFolder, ...(kubeconfig && { explicitPath: kubeconfig }) }
  }

  /** All files, merged. */
  kubeconfig(): Promise<Kubeconfig> {
    this.#kubeconfig ??= import('#/kubeconfig/kubeconfig.ts').then(({ loadKubeconfig }) =>
      loadKubeconfig(this.machine.platform, this.kubeconfigSources()),
    )
    return this.#kubeconfig
  }

  async overrides(): Promise<KubeconfigOverrides> {
    const { overridesOf } = await import('./config/overrides.ts')
    return overridesOf(this.globalFlags, this.machine.workingFolder)
  }

  /** URL of the API server, if a connection was opened. */
  async server(): Promise<string | undefined> {
    return (await this.#connection?.catch(() => undefined))?.settings.server
  }

  /** Settings of the connection, credentials included. */
  async clientConfig(): Promise<ConnectionSettings> {
    return (await this.connection()).settings
  }

  /** Does not connect to the cluster. */
  async namespace(): Promise<CommandNamespace> {
    const { namespace } = this.globalFlags
    if (namespace) return { namespace, isExplicit: true }
    const { namespaceOf } = await import('./config/connection.ts')
    return { namespace: await namespaceOf(this), isExplicit: false }
  }

  connection(): Promise<ClusterConnection> {
    this.#connection ??= import('./config/connection.ts').then(({ connectCluster }) => connectCluster(this))
    return this.#connection
  }

  async client(): Promise<Client> {
    return (await this.connection()).client
  }

  restMapper(): Promise<RestMapper> {
    this.#mapper ??= this.#openMapper()
    return this.#mapper
  }

  async #openMapper(): Promise<RestMapper> {
    const [{ RestMapper }, { CachedDiscovery }, { client, settings }] = await Promise.all([
      import('./discovery/rest-mapper.ts'),
      import('./discovery/cached-discovery.ts'),
      this.connection(),
    ])
    const { platform } = this.machine
    return new RestMapper(
      new CachedDiscovery({ platform, client, folder: this.cacheFolder(), server: settings.server }),
    )
  }

  /** Objects of any kind, as JSON. */
  resources(): Promise<ResourceClient> {
    this.#resources ??= Promise.all([import('./resource/resource-client.ts'), this.connection()]).then(
      ([{ ResourceClient }, { client, timeoutMs }]) =>
        new ResourceClient(client, {
          ...(timeoutMs !== undefined && { requestTimeoutMs: timeoutMs }),
          readParameters: this.#readParameters,
        }),
    )
    return this.#resources
  }

  /** Adds parameters to the query of each get and list. To be called before the first one. */
  setReadParameters(parameters: Readonly<Record<string, string>>): void {
    this.#readParameters = parameters
  }

  /** Of the discovery and OpenAPI cache, which other versions of kubectl use, too. */
  cacheFolder(): string {
    const { environment } = this.machine
    const given = this.globalFlags['cache-dir'] ?? environment['KUBECACHEDIR']
    return given || `${environment['HOME'] ?? ''}/.kube/cache`
  }

  /** Prints a warning of the server. */
  warn(text: string): void {
    this.#warnings++
    this.printWarning(text)
  }

  /** Prints a warning of the command itself. */
  printWarning(text: string): void {
    const { stderr } = this.machine.streams
    stderr.write(stderr.isTerminal ? `\u001B[33;1mWarning:\u001B[0m ${text}\n` : `Warning: ${text}\n`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.[Symbol.asyncDispose]()
  }
}
