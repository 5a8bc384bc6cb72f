/**
 * A cluster in one process: the composition root, and the only file that knows every component. State is in
 * one folder; the process may be killed at any moment and started again on it. Nodes are not part of it yet.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseIp } from '#/api/ip.ts'
import { readAdmission, type AdmissionOptions } from '#/apiserver/admission.ts'
import { ApiServer, type ApiServerOptions } from '#/apiserver/api-server.ts'
import type { AuthenticationSettings } from '#/apiserver/authn.ts'
import { EncryptingStore, Encryption, ensureEncryptionConfiguration } from '#/apiserver/encryption.ts'
import { Health } from '#/apiserver/health.ts'
import { measuredStore } from '#/apiserver/measured-store.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { withObservability } from '#/apiserver/observability.ts'
import { Server } from '#/apiserver/server.ts'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import { ensureClusterCertificates, type ClusterCertificates } from '#/kubeadm/certificates.ts'
import { renewCertificates } from '#/kubeadm/renew-certificates.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Listener, Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import { MemoryStore } from '#/store/memory.ts'
import type { Store } from '#/store/store.ts'

export interface ClusterOptions {
  readonly platform: Platform
  readonly machine: ClusterMachine
  /** Absolute, created when missing. */
  readonly folder: string
  /** The address to listen at; `0.0.0.0` and `::` are all there are. */
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly store: StoreChoice
  readonly build: ApiServerOptions['build']
  /** Called with what has been done, as it is done. */
  readonly onProgress: (text: string) => void
  /** Gives up starting; once the cluster has started it does nothing. */
  readonly signal?: AbortSignal
}

/** What the cluster needs of the machine beside the platform. */
export interface ClusterMachine {
  readonly serveHttp: ServeHttp
  readonly loadGrpc: () => Promise<GrpcConnect>
  readonly crypto: Crypto
  readonly usage: () => ProcessUsage
  /** Names and addresses of the machine. */
  readonly names: readonly string[]
}

export type StoreChoice =
  | { readonly type: 'embedded' }
  | { readonly type: 'memory' }
  | { readonly type: 'etcd'; readonly endpoints: readonly string[] }

export class Cluster implements AsyncDisposable {
  readonly #options: ClusterOptions
  readonly #health: Health
  readonly #metrics: Metrics
  readonly #stopping = new AbortController()
  /** What has been started behind the server, in order; it is stopped in the opposite one. */
  readonly #started = new AsyncDisposableStack()
  #server: Server | undefined
  #apiServer: ApiServer | undefined

  private constructor(options: ClusterOptions) {
    const { clock, log } = options.platform
    this.#options = options
    this.#health = new Health({ clock, log })
    this.#metrics = new Metrics({ usage: options.machine.usage })
  }

  /** Resolves when the API answers that it is ready. What was started before something failed is stopped. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options)
    try {
      await unlessAborted(cluster.#start(), options.signal)
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  /** The file with which an administrator gets in. */
  get kubeconfig(): string {
    return join(this.#options.folder, 'admin.conf')
  }

  /** Where the API server is reached from this machine. */
  get url(): string {
    return `https://${inUrl(this.#reachableHost)}:${this.#server!.address.port}`
  }

  /** Ends watches, lets requests finish, closes the store. The state stays in the folder. */
  async stop(): Promise<void> {
    this.#health.stop()
    this.#stopping.abort()
    // First those who ask, then what they ask of.
    await this.#server?.stop(requestGraceMs)
    await this.#started.disposeAsync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(): Promise<void> {
    const { platform, folder, onProgress } = this.#options
    await platform.files.makeFolder(folder, { mode: 0o700 })
    this.#started.use(await lockFolder(platform, folder))
    const certificates = await this.#ensureCertificates()
    onProgress(`certificates are in ${join(folder, 'pki')}`)
    await this.#listen(certificates)
    onProgress(`listening at ${this.url}`)
    await this.#writeKubeconfig(certificates)
    const store = await this.#openStore()
    onProgress(`the store is ${describeStore(this.#options.store)}`)
    await this.#startApiServer(store, certificates)
    void this.#keepCertificates(certificates)
  }

  async #listen(certificates: ClusterCertificates): Promise<void> {
    const { platform, machine, host, port } = this.#options
    const handle = withObservability({
      platform,
      health: this.#health,
      metrics: this.#metrics,
      authentication: () => this.#apiServer?.authentication,
      certificates: { authorities: certificates.authority.cert },
      authorizer: () => this.#apiServer?.authorizer,
      server: () => this.#apiServer?.handle,
    })
    this.#health.add({
      name: 'poststarthook/start-apiserver',
      endpoints: ['healthz', 'readyz'],
      check: () => {
        if (!this.#apiServer?.isReady) throw new Error('the API server is not ready')
      },
    })
    try {
      this.#server = await Server.start({
        platform,
        host,
        port,
        handle,
        serveHttp: machine.serveHttp,
        tls: tlsOf(certificates),
        onRejected: reason => this.#metrics.rejected(reason),
      })
    } catch (cause) {
      throw new Error(`cannot listen at ${host} port ${port}: ${whyNotListening(cause)}`, { cause })
    }
  }

  async #openStore(): Promise<Store> {
    const { platform } = this.#options
    const opened = await openStore(this.#options)
    const store = this.#started.use(measuredStore(opened, this.#metrics, platform.clock))
    this.#health.add({
      name: 'etcd',
      endpoints: ['healthz', 'livez', 'readyz'],
      check: async () => void (await opened.revision()),
    })
    return this.#encrypted(store)
  }

  /**
   * Secrets are encrypted at rest. Several API servers that share an etcd would have to share the key too: until they
   * can be told which, only the stores of this process are encrypted.
   */
  async #encrypted(store: Store): Promise<Store> {
    const { platform, folder, store: choice } = this.#options
    if (choice.type === 'etcd') return store
    const configuration = await ensureEncryptionConfiguration(
      platform,
      join(folder, 'pki', 'encryption.yaml'),
    )
    const connect = (): never => {
      throw new Error('a key made by the cluster needs no key service')
    }
    const encryption = await Encryption.open({
      platform,
      connect,
      configuration,
      signal: this.#stopping.signal,
    })
    this.#started.use(encryption)
    return new EncryptingStore({ store, encryption, log: platform.log })
  }

  async #startApiServer(store: Store, certificates: ClusterCertificates): Promise<void> {
    const { platform, build } = this.#options
    const advertise = { address: this.#reachableHost, port: this.#server!.address.port }
    const authentication = authenticationOf(certificates)
    const admission = await readAdmission(platform.files, admissionPlugins)
    const apiServer = await ApiServer.start({
      platform,
      store,
      build,
      advertise,
      authentication,
      admission,
      metrics: this.#metrics,
    })
    this.#apiServer = apiServer
    this.#started.defer(() => apiServer.stop())
  }

  #ensureCertificates(): Promise<ClusterCertificates> {
    const {
      platform,
      folder,
      host,
      machine: { crypto, names },
    } = this.#options
    const hostNames = names.filter(name => parseIp(name) === undefined)
    const serverNames = isWildcard(host) ? names : [host, ...hostNames]
    return ensureClusterCertificates({ platform, crypto, folder: join(folder, 'pki'), serverNames })
  }

  async #writeKubeconfig({ authority }: ClusterCertificates): Promise<void> {
    const {
      platform,
      machine: { crypto },
    } = this.#options
    await ensureAdminKubeconfig({ platform, crypto, path: this.kubeconfig, authority, server: this.url })
  }

  /** A cluster may run for longer than its certificates last. */
  async #keepCertificates(current: ClusterCertificates): Promise<void> {
    const { platform } = this.#options
    await renewCertificates(
      {
        platform,
        current,
        ensure: async () => {
          const next = await this.#ensureCertificates()
          await this.#writeKubeconfig(next)
          return next
        },
        onRenewed: next => this.#server!.setTls(tlsOf(next)),
      },
      this.#stopping.signal,
    )
  }

  get #reachableHost(): string {
    const { host } = this.#options
    return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  }
}

/**
 * Kubernetes' own choice, with the rule that nodes keep to themselves. Pods need no service account as long as there is
 * no controller that makes the default one.
 */
const admissionPlugins: AdmissionOptions = { enable: ['NodeRestriction'], disable: ['ServiceAccount'] }

/** Rejects with the signal's reason when it is aborted first. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  await Promise.race([promise, aborted])
  signal?.removeEventListener('abort', abort)
}

/** Requests that are running when the cluster stops have so long to finish. */
const requestGraceMs = 5_000

/**
 * One process works on a folder. Who listens at a socket has the lock, and loses it with its life, however it
 * ends. The path of a socket must be short, so that of a long folder is made of its digest.
 */
async function lockFolder({ network }: Platform, folder: string): Promise<Listener> {
  const inside = join(folder, 'lock.sock')
  const path =
    Buffer.byteLength(inside) <= socketPathBytesMax
      ? inside
      : `/tmp/k8ts-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}.sock`
  try {
    return await network.listen({ path }, connection => connection.destroy())
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const wayOut = 'stop it, or choose another folder with --data-dir'
    throw new Error(isTaken ? `another k8ts is running on ${folder}: ${wayOut}` : `cannot lock ${folder}`, {
      cause,
    })
  }
}

/** What every operating system takes. */
const socketPathBytesMax = 100

async function openStore({ platform, folder, store, machine }: ClusterOptions): Promise<Store> {
  switch (store.type) {
    case 'embedded':
      return EmbeddedStore.open({ platform, folder: join(folder, 'store') })
    case 'memory':
      return MemoryStore.open({ platform })
    case 'etcd':
      return EtcdStore.open({ platform, connect: await machine.loadGrpc(), endpoints: store.endpoints })
  }
}

function tlsOf({ authority, frontProxyAuthority, apiServer }: ClusterCertificates): HttpTls {
  return { ...apiServer, clientCa: `${authority.cert}${frontProxyAuthority.cert}` }
}

function authenticationOf(certificates: ClusterCertificates): AuthenticationSettings {
  const { authority, frontProxyAuthority, serviceAccounts } = certificates
  return {
    certificates: { authorities: authority.cert },
    frontProxy: { authorities: frontProxyAuthority.cert, allowedNames: ['front-proxy-client'] },
    bootstrapTokens: true,
    serviceAccounts: { url: serviceAccountIssuer, signingKey: serviceAccounts.privateKey },
  }
}

/** As kubeadm calls it: where pods reach the API server. */
const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local'

function whyNotListening(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return listenErrors.get(code) ?? message
}

const listenErrors: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is taken; choose another with --port'],
  ['EADDRNOTAVAIL', 'this machine does not have the address; choose another with --bind'],
  ['EACCES', 'that needs more rights; choose another port with --port'],
])

function describeStore(choice: StoreChoice): string {
  return choice.type === 'etcd' ? `etcd at ${choice.endpoints.join(', ')}` : choice.type
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
