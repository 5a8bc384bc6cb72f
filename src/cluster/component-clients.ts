/** The connections of a component process to the API server, each with the identity that its purpose requires. */
import type { BucketLimits } from '#/base/token-bucket.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inClusterConfig, openConnection, type ConnectionSettings } from '#/client/connection.ts'
import type { HttpTransport } from '#/client/http.ts'
import { rateLimitedTransport } from '#/client/rate-limited-transport.ts'
import { RestClientMetrics, type RestClientHostMetrics } from '#/client/rest-client-metrics.ts'
import { ServiceAccountCredentials } from '#/client/service-account-credentials.ts'
import type { Transport } from '#/client/transport.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'

export interface ComponentClientsOptions {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  /** User agent: `kube-scheduler`. */
  readonly name: string
  readonly settings: ConnectionSettings
  readonly metrics: MetricsRegistry
  /** Of all requests but those of the leader election; unlimited when absent. */
  readonly limits?: BucketLimits | undefined
}

export class ComponentClients implements AsyncDisposable {
  readonly #options: ComponentClientsOptions
  readonly #metrics: RestClientHostMetrics
  readonly #opened = new AsyncDisposableStack()
  #main: Promise<HttpTransport> | undefined

  constructor(options: ComponentClientsOptions) {
    const { metrics, settings } = options
    this.#options = options
    this.#metrics = new RestClientMetrics(metrics).forHost(new URL(settings.server).host)
  }

  /** With the identity of the kubeconfig. */
  async main(): Promise<Client> {
    return this.#clientOf(this.#options.name, await this.#transport())
  }

  /** As `main`, for the leader election, which other requests must not delay. */
  async election(): Promise<Client> {
    const { platform, name } = this.#options
    const transport = await this.#transport()
    return clientOf({ platform, transport, userAgent: `${name}/leader-election`, metrics: this.#metrics })
  }

  /** A client of another kubeconfig. */
  async other(settings: ConnectionSettings): Promise<Client> {
    const { platform, connectHttp: connect, name } = this.#options
    const transport = this.#opened.use(await openConnection({ platform, connect, settings }))
    return clientOf({ platform, transport, userAgent: name })
  }

  /** Makes clients that act as service accounts in `kube-system`, with tokens that `client` requests. */
  async serviceAccounts(client: Client): Promise<(account: string) => Client> {
    const { platform, connectHttp: connect, name: userAgent, settings } = this.#options
    const anonymous = { ...settings, user: {} }
    const metrics = this.#metrics
    // All service accounts share its connection: their requests differ only in their tokens.
    const base = this.#opened.use(await openConnection({ platform, connect, settings: anonymous, metrics }))
    return account => {
      const at = { client, clock: platform.clock, namespace: 'kube-system', name: account }
      return this.#clientOf(
        `${userAgent}/${account}`,
        base.withCredentials(new ServiceAccountCredentials(at)),
      )
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }

  #clientOf(userAgent: string, opened: Transport): Client {
    const { platform, limits } = this.#options
    const transport = limits ? rateLimitedTransport(opened, platform.clock, limits) : opened
    return clientOf({ platform, transport, userAgent, metrics: this.#metrics })
  }

  #transport(): Promise<HttpTransport> {
    const { platform, connectHttp: connect, settings } = this.#options
    const open = async (): Promise<HttpTransport> =>
      this.#opened.use(await openConnection({ platform, connect, settings, metrics: this.#metrics }))
    return (this.#main ??= open())
  }
}

export interface ComponentKubeconfig {
  readonly platform: Platform
  /** Path; the in-cluster configuration of the pod when absent. */
  readonly path: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workingFolder: string
}

/** Throws Error that names the flag. */
export async function componentConnection(options: ComponentKubeconfig): Promise<ConnectionSettings> {
  const { platform, path, environment, workingFolder } = options
  if (path === undefined) {
    const settings = await inClusterConfig(platform, environment)
    if (settings === undefined) throw new Error('no cluster is configured: set --kubeconfig, or run in a pod')
    return settings
  }
  const settings = settingsOf(
    await loadKubeconfig(platform, { explicitPath: path, environment, workingFolder }),
  )
  if (settings === undefined) throw new Error(`kubeconfig ${path} has no server`)
  return settings
}
