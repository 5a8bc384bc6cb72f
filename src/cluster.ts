/**
 * A cluster in one process: the composition root, and the only file that imports every component. All state
 * is in one folder; the process may be killed at any time and restarted on it. Nodes are simulated, or this
 * machine is the node, or there are none. The components beside the API server are loaded only when they run,
 * because loading code takes most of the time of a start.
 */
import { join } from 'node:path'
import { ApiServer } from '#/apiserver/api-server.ts'
import { openAudit, type Audit } from '#/apiserver/audit.ts'
import { debugPages } from '#/apiserver/debug-pages.ts'
import { runEncryptionMaintenance } from '#/apiserver/encryption.ts'
import { gitVersion } from '#/apiserver/discovery.ts'
import { Health } from '#/apiserver/health.ts'
import { measuredStore } from '#/apiserver/measured-store.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { observability, startingPipeline, type Observability } from '#/apiserver/observability.ts'
import type { Handle } from '#/apiserver/pipeline.ts'
import { PostStartHooks } from '#/apiserver/post-start-hooks.ts'
import type { Server } from '#/apiserver/server.ts'
import {
  readApiServerSettings,
  requireAllowedNamesForSharedCa,
  type ApiServerSettings,
} from '#/apiserver/settings.ts'
import { storeAlarmChecks } from '#/apiserver/store-alarms.ts'
import { abortable } from '#/base/abort.ts'
import { messageOf } from '#/base/message-of.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { ensureDefaultStorageClass } from '#/controllers/default-storage-class.ts'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import {
  ensureClusterCertificates,
  renewClusterCertificates,
  type ClusterCertificates,
  type KeyAndCertificate,
} from '#/kubeadm/certificates.ts'
import { administrator, userOf } from '#/kubeadm/identities.ts'
import { renewCertificates } from '#/component-base/renew-certificates.ts'
import { ensureRoleBindings } from '#/kubeadm/role-bindings.ts'
import { isHandOver } from '#/platform/hand-over.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'
import type { SchedulerConfiguration } from '#/scheduler/configuration.ts'
import type { Store, StoreAlarms } from '#/store/store.ts'
import type { ApiServerParts, ClusterOptions, ControlPlaneParts } from '#/cluster/cluster-options.ts'
import type { ControlPlane } from '#/cluster/control-plane.ts'
import { debugState } from '#/cluster/debug-state.ts'
import type { ContainerNode } from '#/cluster/container-node.ts'
import { openDataFolder, requireReadableFormat } from '#/cluster/data-folder-format.ts'
import type { LockHolder } from '#/cluster/lock-folder.ts'
import type { ScheduledSnapshots } from '#/cluster/scheduled-snapshots.ts'
import { openHistory, type OpenedHistory } from '#/cluster/open-history.ts'
import { listenAgain } from '#/cluster/listen-again.ts'
import { waitForNodesReady } from '#/cluster/wait-for-nodes-ready.ts'
import {
  apiServerCertSans,
  isWildcard,
  reachableHost,
  serverUrl,
  startServer,
} from '#/cluster/start-server.ts'
import { describeStore, encryptStore, openStore, type EncryptedStore } from '#/cluster/open-store.ts'
import {
  authenticationOf,
  clientCaBundle,
  kubeletTlsOf,
  serviceAccountIssuer,
  tlsOf,
} from '#/cluster/trust.ts'
import { simulatedNode } from '#/cluster/simulated-nodes.ts'
import { addStartChecks } from '#/cluster/start-checks.ts'

export type { ClusterOptions, ControlPlaneSettings, NodesSettings } from '#/cluster/cluster-options.ts'
export type { StoreSettings } from '#/cluster/open-store.ts'

export class Cluster implements AsyncDisposable {
  readonly #options: ClusterOptions
  readonly #health: Health
  readonly #metrics: Metrics
  readonly #observability: Observability
  readonly #startHooks = new PostStartHooks()
  readonly #stopping = new AbortController()
  /** Everything started behind the servers; disposed in reverse order. */
  readonly #started = new AsyncDisposableStack()
  #server: Server | undefined
  /** Of both servers, also when they have stopped. */
  #port = 0
  /** A second listener at the node's address, by which pods reach the API server. */
  #nodeServer: Server | undefined
  #opened: Store | undefined
  #alarms: StoreAlarms | undefined
  #slowSync: Pick<LockHolder, 'slowSync'> = {}
  #snapshots: ScheduledSnapshots | undefined
  #history: OpenedHistory | undefined
  #apiServer: ApiServer | undefined
  #controlPlane: ControlPlane | undefined
  /** Client TLS of the API server for its connections to kubelets. */
  #kubeletTls: HttpClientTls | undefined
  /** Client certificate of the API server for extension servers. */
  #proxyClient: KeyAndCertificate | undefined
  #node: ContainerNode | undefined
  #isReady = false

  private constructor(options: ClusterOptions) {
    const { clock, log } = options.platform
    this.#options = options
    this.#health = new Health({ clock, log })
    const { apiServer: flags = {}, machine } = options
    this.#metrics = new Metrics({
      usage: machine.usage,
      clock,
      disabled: flags['disabled-metrics'] ?? [],
      showsHidden: flags['show-hidden-metrics-for-version'] !== undefined,
    })
    this.#observability = observability({
      health: this.#health,
      metrics: this.#metrics,
      pages: debugPages({
        clock,
        flags,
        startedMs: machine.startedMs,
        build: options.build,
        profiler: machine.profiler,
        flowControl: () => this.#apiServer?.flowControl,
      }),
      debug: path => debugState(path, { apiServer: this.#apiServer, controlPlane: this.#controlPlane }),
    })
  }

  /** Resolves when the API server is ready. On failure, everything already started is stopped. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options)
    try {
      const starting = cluster.#start()
      await (options.signal ? abortable(starting, options.signal) : starting)
      return cluster
    } catch (error) {
      await cluster.stop({ keepsContainers: isHandOver(options.signal) })
      throw error
    }
  }

  /** Path of the administrator's kubeconfig. */
  get kubeconfig(): string {
    return join(this.#options.folder, 'admin.conf')
  }

  /** The URL of the API server from this machine. */
  get url(): string {
    return serverUrl(this.#options.host, this.#port)
  }

  /**
   * Ends watches, waits for running requests, and closes the store. The state remains in the folder. Containers are
   * stopped unless they are kept for the process that continues.
   */
  async stop({ keepsContainers = false }: { readonly keepsContainers?: boolean } = {}): Promise<void> {
    if (keepsContainers) this.#node?.keepContainers()
    this.#health.stop()
    this.#stopping.abort()
    // The listeners stop first, then the components behind them.
    const servers = [this.#server, this.#nodeServer].filter(server => server !== undefined)
    await Promise.all(servers.map(server => server.stop(requestGraceMs)))
    await this.#started.disposeAsync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(): Promise<void> {
    const { platform, folder, isFolderShared, onProgress } = this.#options
    const given = await this.#readSettings()
    const scheduler = await this.#readScheduler()
    await platform.files.makeFolder(folder, { mode: 0o700 }).catch((cause: unknown) => {
      throw new Error(`cannot create the data folder ${folder}: ${messageOf(cause)}`, { cause })
    })
    const data = { platform, folder, version: this.#options.build.version }
    if (isFolderShared) await requireReadableFormat(data)
    else this.#started.use(await openDataFolder(data, () => this.#describe()))
    const node = await this.#prepareNode(given)
    const settings = { ...given, ...(node && { serviceCidrs: node.network.serviceCidrs }) }
    const certificates = await this.#ensureCertificates(settings, node)
    requireAllowedNamesForSharedCa(clientCaBundle(certificates, settings), settings.authentication.frontProxy)
    onProgress(`certificates are in ${join(folder, 'pki')}`)
    const audit = this.#startAudit(settings)
    await this.#listen(certificates, settings, { audit, node })
    onProgress(`listening at ${this.url}`)
    await this.#writeKubeconfig(certificates)
    const opened = await this.#openStore(settings)
    onProgress(`store: ${describeStore(this.#options.store)}`)
    await this.#startApiServer({ opened, settings, certificates, audit, node })
    this.#runEncryptionMaintenance(opened, settings)
    await this.#startSnapshots()
    await this.#recordCrash()
    await this.#startControlPlane({ certificates, settings, scheduler, node })
    void this.#keepCertificates(certificates, settings, node)
    this.#isReady = true
  }

  /** Reported to other processes on the machine by the lock socket. */
  #describe(): LockHolder {
    const { pid, startedMs, supervision, launcher } = this.#options.machine
    const program = { version: this.#options.build.version, ...(launcher !== undefined && { launcher }) }
    const url = this.#server && { url: this.url }
    const store = { alarms: this.#alarms?.current ?? [], ...this.#slowSync, ...this.#snapshots?.status }
    const rest = {
      ...supervision,
      ...url,
      ...store,
      ...this.#history?.holderState,
      ...this.#node?.holderState,
    }
    return { pid, startedMs, isReady: this.#isReady, program, ...rest }
  }

  /** Runs first because it is slow: sets up the network and begins to start the container runtime. */
  async #prepareNode({ serviceCidrs }: ApiServerSettings): Promise<ContainerNode | undefined> {
    const { platform, machine, folder, controlPlane, build, onProgress } = this.#options
    const { nodes } = controlPlane ?? {}
    if (nodes?.type !== 'containers') return undefined
    const { linux, podCidrs, registryMirrors = [], proxyMode, count, program, ingress } = nodes
    const version = gitVersion(build)
    const choice = { ...(podCidrs && { podCidrs }), ...(serviceCidrs && { serviceCidrs }) }
    const { ContainerNode } = await import('#/cluster/container-node.ts')
    const wanted = { choice, registryMirrors, proxyMode, count, program, version, ingress }
    this.#node = await ContainerNode.prepare({ platform, machine, linux, folder, ...wanted, onProgress })
    return this.#started.use(this.#node)
  }

  #readSettings(): Promise<ApiServerSettings> {
    const { platform, apiServer = {} } = this.#options
    return readApiServerSettings(apiServer, { platform, defaults })
  }

  /** Disposed after the API server, so that all audit events are flushed. */
  #startAudit({ audit: settings }: ApiServerSettings): Audit | undefined {
    const { platform, machine } = this.#options
    if (settings === undefined) return undefined
    const audit = openAudit(settings, {
      platform,
      connectHttp: machine.connectHttp,
      metrics: this.#metrics.access.audit,
    })
    this.#runUntilStopped(signal => audit.run(signal))
    return audit
  }

  async #listen(
    certificates: ClusterCertificates,
    settings: ApiServerSettings,
    { audit, node }: Pick<ApiServerParts, 'audit' | 'node'>,
  ): Promise<void> {
    const { platform, machine, host, port } = this.#options
    const starting = startingPipeline({
      platform,
      observability: this.#observability,
      certificates: { authorities: clientCaBundle(certificates, settings) },
      ...(audit && { audit }),
    })
    const handle: Handle = request => (this.#apiServer?.handle ?? starting)(request)
    addStartChecks(this.#health, {
      store: () => this.#opened,
      isCacheSynced: () => this.#apiServer?.isReady === true,
      hooks: this.#startHooks.checks({
        hasFlowControl: settings.limits?.fairness === 'priority and fairness',
      }),
      ...(this.#options.controlPlane?.nodes.type === 'simulated' && { areNodesReady: () => this.#isReady }),
    })
    const listen = (at: { readonly host: string; readonly port: number }): Promise<Server> => {
      return startServer({
        ...at,
        platform,
        handle,
        serveHttp: machine.serveHttp,
        tls: tlsOf(certificates, settings),
        onRejected: reason => this.#metrics.rejected(reason),
      })
    }
    const listenAt = (chosen: number): Promise<Server> => listen({ host, port: chosen })
    this.#server = await listenAgain({ platform, kubeconfig: this.kubeconfig, port, listen: listenAt })
    this.#port = this.#server.address.port
    if (node && !isWildcard(host)) {
      this.#nodeServer = await listen({ host: node.network.nodeAddress, port: this.#port })
    }
  }

  async #openStore({ encryption: settings }: ApiServerSettings): Promise<EncryptedStore> {
    const { platform, folder, machine } = this.#options
    const { loadGrpc, memory } = machine
    const onSlowSync = (tookMs: number): void => {
      this.#slowSync = { slowSync: { tookMs, endedMs: platform.clock.now() } }
    }
    const metrics = this.#metrics.store
    const opened = await openStore({ ...this.#options, memory, loadGrpc, metrics, onSlowSync })
    this.#alarms = opened.alarms
    const store = this.#started.use(measuredStore(opened, this.#metrics, platform.clock))
    this.#opened = opened
    for (const check of storeAlarmChecks(opened.alarms)) this.#health.add(check)
    const { signal } = this.#stopping
    const encryption = { platform, folder, loadGrpc, settings, signal, metrics: this.#metrics.storage }
    const encrypted = await encryptStore(store, encryption)
    this.#started.use(encrypted.encryption)
    for (const check of encrypted.encryption.healthChecks) this.#health.add(check)
    return encrypted
  }

  #runEncryptionMaintenance(
    { store, encryption }: EncryptedStore,
    { encryption: settings }: ApiServerSettings,
  ): void {
    const { platform } = this.#options
    const file = settings?.reloads ? settings : undefined
    const options = { platform, store, encryption, ...(file && { file }) }
    this.#runUntilStopped(signal => runEncryptionMaintenance(options, signal))
  }

  /** Stopped in its turn, after all that was started later. */
  #runUntilStopped(run: (signal: AbortSignal) => Promise<void>): void {
    const stopping = new AbortController()
    const running = run(stopping.signal)
    this.#started.defer(async () => {
      stopping.abort()
      await running
    })
  }

  async #startApiServer({ opened, settings, certificates, audit, node }: ApiServerParts): Promise<void> {
    const { platform, build, machine } = this.#options
    const { connectHttp } = machine
    const { encryption: _encryption, audit: _audit, kubeletTls: _tls, ...given } = settings
    const { advertiseAddress, proxyClient, historyLimits, ...rest } = given
    this.#history = historyLimits && (await openHistory(historyLimits, this.#options))
    const log = this.#history && this.#started.use(this.#history.log)
    // The store may be closed already.
    this.#stopping.signal.throwIfAborted()
    const apiServer = await ApiServer.start({
      ...rest,
      platform,
      store: opened.store,
      build,
      advertise: {
        address: advertiseAddress ?? node?.network.nodeAddress ?? reachableHost(this.#options.host),
        port: this.#port,
      },
      authentication: { ...authenticationOf(certificates, settings), connectHttp },
      ...(this.#options.store.type === 'etcd' && { sharedStore: { hostName: machine.names[0] ?? '' } }),
      connectHttp,
      proxyClient: () => proxyClient ?? (this.#proxyClient ??= certificates.frontProxyClient),
      kubelets: {
        connectHttp,
        tls: () => (this.#kubeletTls ??= kubeletTlsOf(certificates, settings)),
        verifiesAll: settings.kubeletTls.authorities !== undefined,
        simulated: name => this.#controlPlane?.kubeletClient(name),
      },
      history: log && { log, encryption: opened.encryption },
      passes: node?.passes,
      ...(audit && { audit }),
      observability: this.#observability,
      metrics: this.#metrics,
      startHooks: this.#startHooks,
      ...(machine.memory && { memory: machine.memory }),
    })
    this.#apiServer = apiServer
    this.#started.defer(() => apiServer.stop())
    await ensureRoleBindings(this.#clientOf('k8ts'), platform.log)
  }

  async #startSnapshots(): Promise<void> {
    const { platform, folder, store } = this.#options
    if (store.type !== 'embedded' || store.snapshots === undefined) return
    const { ScheduledSnapshots } = await import('#/cluster/scheduled-snapshots.ts')
    const client = this.#clientOf('k8ts')
    const snapshots = new ScheduledSnapshots({ ...store.snapshots, platform, client, folder })
    this.#runUntilStopped(signal => snapshots.run(signal))
    this.#snapshots = snapshots
  }

  async #recordCrash(): Promise<void> {
    const { platform, machine } = this.#options
    const { crash } = machine.supervision ?? {}
    if (crash === undefined) return
    const { recordCrashEvent } = await import('#/cluster/crash-recovery.ts')
    const client = this.#clientOf('k8ts')
    this.#runUntilStopped(signal => recordCrashEvent({ platform, client, crash }, signal))
  }

  /** Resolves when every node is ready. */
  async #startControlPlane({ certificates, settings, scheduler, node }: ControlPlaneParts): Promise<void> {
    const { platform, machine, controlPlane: choice, onProgress } = this.#options
    if (choice === undefined) return
    const server = this.#apiServer!
    const client = this.#clientOf('k8ts')
    await ensureDefaultStorageClass(client)
    const { clusterControlPlane } = await import('#/cluster/cluster-control-plane.ts')
    const { crypto } = machine
    const serverAddress = node && `${node.network.nodeAddress}:${this.#port}`
    const parts = { platform, server, crypto, certificates, settings, scheduler, node, serverAddress }
    const controlPlane = clusterControlPlane(choice, parts)
    this.#controlPlane = controlPlane
    this.#started.defer(() => controlPlane.stop())
    controlPlane.start()
    onProgress(`${controlPlane.components.join(' and ')} started`)
    if (node) {
      await this.#serveComponents(controlPlane, certificates, node)
      const server = `https://${serverAddress}`
      await node.start({ controlPlane, client, certificates, server, signal: this.#stopping.signal })
    } else if (choice.nodes.type === 'simulated') {
      const { count } = choice.nodes
      for (let number = 0; number < count; number++) controlPlane.startNode(simulatedNode(number))
      await waitForNodesReady(client, count, this.#stopping.signal)
      onProgress(`${count} simulated nodes are ready`)
    }
  }

  /** Only a cluster with a container node has an address of its own, on which the usual ports are free. */
  async #serveComponents(
    controlPlane: ControlPlane,
    { ca }: ClusterCertificates,
    node: ContainerNode,
  ): Promise<void> {
    const { platform, machine } = this.#options
    const { ComponentServers } = await import('#/cluster/component-servers.ts')
    const host = node.network.nodeAddress
    const folder = node.folders.certificates
    this.#started.use(await ComponentServers.start({ platform, machine, controlPlane, host, folder, ca }))
  }

  async #readScheduler(): Promise<SchedulerConfiguration | undefined> {
    const { platform, machine, controlPlane } = this.#options
    if (controlPlane === undefined) return undefined
    const { readScheduler } = await import('#/cluster/read-scheduler.ts')
    const scheduler = await readScheduler(controlPlane, { platform, ...machine })
    return scheduler && this.#started.use(scheduler)
  }

  /** An in-process client with administrator rights. */
  #clientOf(userAgent: string): Client {
    const { handle } = this.#apiServer!
    const transport = inProcessTransport({ handle, user: userOf(administrator) })
    return clientOf({ platform: this.#options.platform, transport, userAgent })
  }

  async #ensureCertificates(
    { serviceCidrs = [] }: ApiServerSettings,
    node: ContainerNode | undefined,
  ): Promise<ClusterCertificates> {
    const { platform, folder, host, machine, certificatesFolder, servingCertificate } = this.#options
    const { crypto, names: machineNames } = machine
    const nodeAddress = node?.network.nodeAddress
    const sans = apiServerCertSans({ host, machineNames, nodeAddress, serviceCidrs })
    const options = { platform, crypto, folder: certificatesFolder ?? join(folder, 'pki') }
    const certificates =
      certificatesFolder === undefined
        ? await ensureClusterCertificates({ ...options, serverNames: servingCertificate ? [] : sans })
        : await renewClusterCertificates(options)
    return servingCertificate === undefined
      ? certificates
      : { ...certificates, apiServer: servingCertificate }
  }

  async #writeKubeconfig({ ca }: ClusterCertificates): Promise<void> {
    const { platform, isFolderShared, machine } = this.#options
    if (isFolderShared) return
    const { crypto } = machine
    await ensureAdminKubeconfig({ platform, crypto, path: this.kubeconfig, ca, server: this.url })
  }

  /** Renews certificates while the cluster runs. */
  async #keepCertificates(
    current: ClusterCertificates,
    settings: ApiServerSettings,
    node: ContainerNode | undefined,
  ): Promise<void> {
    const { platform } = this.#options
    await renewCertificates(
      {
        platform,
        current,
        ensure: async () => {
          const next = await this.#ensureCertificates(settings, node)
          await this.#writeKubeconfig(next)
          return next
        },
        onRenewed: next => {
          this.#kubeletTls = kubeletTlsOf(next, settings)
          this.#proxyClient = next.frontProxyClient
          for (const server of [this.#server, this.#nodeServer]) server?.setTls(tlsOf(next, settings))
        },
      },
      this.#stopping.signal,
    )
  }
}

/** Defaults that flags override. */
const defaults = { serviceAccountIssuer, enabledPlugins: ['NodeRestriction'] }

/** Maximum time that running requests have to finish when the cluster stops. */
const requestGraceMs = 5_000
