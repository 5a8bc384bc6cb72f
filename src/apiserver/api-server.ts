/**
 * The API server: the only component that accesses the store. It serves the resources of its scheme from a
 * cache of the whole cluster, to HTTP clients through `server.ts` and to in-process components through
 * `handle`.
 */
import { Scheme } from '#/api/scheme.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessMemory } from '#/platform/process-usage.ts'
import { Compactor } from '#/store/compactor.ts'
import type { Store } from '#/store/store.ts'
import type { AdmissionPluginFactory } from './admission.ts'
import { AdmissionChain, noAdmission, type AdmissionPlugin } from './admission/admission-chain.ts'
import type { PluginContext, TolerationSeconds } from './admission/plugin-context.ts'
import { Aggregator, type ProxyClientCertificate } from './aggregator.ts'
import { CustomResources } from './apiextensions/custom-resources.ts'
import { clusterIpUse } from './allocation/cluster-ips.ts'
import { nodePortUse, type PortRange } from './allocation/node-ports.ts'
import { AllocationRepair } from './allocation/repair.ts'
import type { Audit } from './audit.ts'
import { Authentication, type AuthenticationSettings } from './authn.ts'
import { impersonate } from './authn/impersonation.ts'
import { ServiceAccountIssuerDiscovery, keysPath } from './authn/service-account-issuer-discovery.ts'
import {
  createAuthz,
  defaultAuthorizers,
  reconcileRoles,
  type AuthorizerSettings,
  type Authz,
} from './authz.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { ApiServerPeers, bootstrap, keepAuthenticationTrust } from './bootstrap.ts'
import { Discovery } from './discovery.ts'
import { versionInfo, type Build } from './discovery/server-version.ts'
import type { FeatureGate } from './api-enablement.ts'
import { hooks, resourcesOf, subresources, virtual } from './builtin-handlers.ts'
import { FlowControl, type RequestLimits } from './flow-control.ts'
import { maxInFlight } from './flow-control/max-in-flight.ts'
import { guardMemory } from './memory-guard.ts'
import { reconcileDanglingConditions } from './flow-control/dangling-schemas.ts'
import { OpenApi } from './openapi.ts'
import { measure, measureFilter } from './measure.ts'
import type { Metrics, ObjectCount } from './metrics.ts'
import type { FilterName } from './metrics/requests.ts'
import { controllerHooks, PostStartHooks, watchCacheHooks } from './post-start-hooks.ts'
import type { Observability } from './observability.ts'
import { PathNotFoundError, pipeline, type Handle, type Next, type Stage } from './pipeline.ts'
import { WatchCache, type ObjectCache } from './registry/watch-cache.ts'
import type { Registry, RegistryExtension } from './registry/registry.ts'
import { prefixOf, storeRoot } from './registry/store-keys.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { followFile, type ReloadedFile } from './reloaded-file.ts'
import { Router, type RouterOptions, type VerbHandlers } from './router.ts'
import { KubeletSummaries } from './kubelet-summaries.ts'
import { Kubelets, type KubeletAccess } from './kubelets.ts'
import { RemoteClients } from './proxy/remote-clients.ts'
import { podLog } from './subresources/pod-log.ts'
import { podStreams } from './subresources/pod-streams.ts'
import { proxies } from './subresources/proxy.ts'
import { tokenRequest } from './subresources/token-request.ts'
import { resourceMetrics } from './virtual/resource-metrics.ts'
import { accessReviews, tokenReview } from './virtual/reviews.ts'
import { isBuiltInGroup, noSuchResource } from './served-routes.ts'
import { authenticate, authorize, requestTimeout, requireReady } from './stages.ts'
import { recordStoreAlarms } from './store-alarms.ts'
import { limitStreams } from './stream-limits.ts'
import { whenAvailable } from './when-available.ts'

export interface ApiServerOptions {
  readonly platform: Platform
  /** Owned by the caller, which closes it after the server has stopped. */
  readonly store: Store
  /** Version information for /version. */
  readonly build: Build
  /** Creates the admission plugins in execution order; see `readAdmission`. */
  readonly admission?: AdmissionPluginFactory
  /** Authenticators; client certificates only when absent. */
  readonly authentication?: AuthenticationSettings
  /** Authorizers in order; Node and RBAC when absent. */
  readonly authorizers?: readonly AuthorizerSettings[]
  /** Configuration files that are read again while the server runs. */
  readonly reloads?: ApiServerReloads
  /** Connects to external servers; required for webhooks and extension servers. */
  readonly connectHttp?: HttpConnect
  /** Client certificate for extension servers. Called for each request, because it may be renewed. */
  readonly proxyClient?: () => ProxyClientCertificate
  /**
   * Access to kubelets, pods and services. When absent, there are no logs, exec, attach, port-forward and
   * proxy subresources.
   */
  readonly kubelets?: KubeletAccess
  /** True to serve the metrics.k8s.io resources without access to kubelets, for simulated nodes. */
  readonly servesResourceMetrics?: boolean
  /** Built-in versions that are served in addition to the default ones: `storagemigration.k8s.io/v1beta1`. */
  readonly enabledVersions?: readonly string[]
  readonly featureGates?: readonly FeatureGate[]
  /** Owned by the caller, which runs it longer than the server. */
  readonly audit?: Audit
  /** Serves health and metrics; see `observability.ts`. */
  readonly observability?: Observability
  /** The memory of the process; unlimited when absent. */
  readonly memory?: ProcessMemory
  /** Limits on concurrent requests; unlimited when absent. */
  readonly limits?: RequestLimits
  /** Timeout for requests that are not long-running. */
  readonly requestTimeoutMs?: number
  readonly tolerationSeconds?: TolerationSeconds
  /** Absent when metrics are not recorded. */
  readonly metrics?: Metrics
  /** Told which steps of the start have finished. */
  readonly startHooks?: PostStartHooks
  /** The address and port at which pods and nodes reach this server. */
  readonly advertise?: Advertise
  /** Set if other API servers use the same store; host name of this one. */
  readonly sharedStore?: { readonly hostName: string }
  /** Service CIDRs, one per IP family, the default family first. */
  readonly serviceCidrs?: readonly string[]
  readonly nodePorts?: PortRange
  /** TTL of Events. */
  readonly eventTtlMs?: number
  /** Time until old revisions of the store are compacted; 0 never. */
  readonly compactionIntervalMs?: number
}

export interface ApiServerReloads {
  readonly authorizers?: ReloadedFile<readonly AuthorizerSettings[]>
  readonly issuers?: ReloadedFile<NonNullable<AuthenticationSettings['issuers']>>
}

export interface Advertise {
  readonly address: string
  readonly port: number
}

export class ApiServer {
  readonly scheme: Scheme
  readonly handle: Handle
  readonly authentication: Authentication
  readonly authorizer: Authorizer
  readonly #replaceAuthorizers: Authz['replaceAuthorizers']
  readonly #cache: WatchCache
  readonly #registry: Registry
  #extension: RegistryExtension | undefined
  #flowControl: FlowControl | undefined
  readonly #discovery: Discovery
  readonly #openApi: OpenApi
  readonly #customResources: CustomResources
  readonly #aggregator: Aggregator
  readonly #issuerMetadata: ServiceAccountIssuerDiscovery | undefined
  readonly #stopping = new AbortController()
  /** Connections to kubelets and other servers. */
  readonly #remotes = new AsyncDisposableStack()
  #peers: ApiServerPeers | undefined
  #running: Promise<void> = Promise.resolve()
  #isReady = false

  private constructor(options: ApiServerOptions) {
    const { platform, store, build } = options
    const { address, port } = options.advertise ?? defaultAdvertise
    this.scheme = new Scheme(resourcesOf(options))
    const { memory } = options
    const decodedBytesMax = memory ? memory.heapBytesMax / decodedHeapShare : Infinity
    const { metrics } = options
    this.#cache = new WatchCache({ store, platform, prefix: storeRoot, decodedBytesMax, metrics })
    memory?.onIdle(() => this.#cache.release())
    const { nodePorts, connectHttp } = options
    const parts = {
      platform,
      store,
      scheme: this.scheme,
      hooks,
      ...(nodePorts && { nodePorts }),
      ...(metrics && { metrics }),
    }
    const plugins = this.#createPlugins(options, parts)
    const { cache = this.#cache, genericHooks } = this.#extension?.filtered ?? {}
    const { authorizer, escalation, replaceAuthorizers } = createAuthz({
      cache,
      platform,
      authorizers: options.authorizers ?? defaultAuthorizers,
      ...(metrics && { metrics: metrics.access }),
      ...(connectHttp && { connectHttp }),
    })
    this.authorizer = authorizer
    this.#replaceAuthorizers = replaceAuthorizers
    this.#registry = {
      ...parts,
      cache,
      admission: new AdmissionChain(
        [...plugins, escalation],
        metrics && { metrics: metrics.admission, clock: platform.clock },
      ),
      ...(genericHooks && { genericHooks }),
    }
    const own = { ...this.#registry, admission: noAdmission }
    this.#customResources = new CustomResources(own, connectHttp)
    const { proxyClient } = options
    this.#aggregator = this.#remotes.use(new Aggregator({ registry: own, connectHttp, proxyClient, metrics }))
    this.#discovery = new Discovery(this.scheme, {
      build,
      serverAddress: `${address}:${port}`,
      aggregatedVersions: () => this.#aggregator.versions(),
      paths: () => [...(options.observability?.paths() ?? []), ...(this.#issuerMetadata?.paths ?? [])],
    })
    this.#openApi = new OpenApi(this.scheme, {
      build,
      clock: platform.clock,
      authoredSchema: resource => this.#customResources.authoredSchema(resource),
      aggregatedSchemas: () => this.#aggregator.schemas(),
      isIssuerServed: () => this.#issuerMetadata?.isServed === true,
    })
    const registry = this.#registry
    this.authentication = new Authentication({ platform, registry, ...options.authentication })
    const { issuer } = this.authentication
    const keysUrl = `https://${address.includes(':') ? `[${address}]` : address}:${port}${keysPath}`
    this.#issuerMetadata = issuer && new ServiceAccountIssuerDiscovery({ issuer, keysUrl })
    const connections = this.#connections(options)
    const handlers = this.#handlers(connections)
    this.handle = pipeline(platform, this.#stages(options), this.#routeWith(handlers))
  }

  /** Resolves when the server is ready to serve requests. */
  static async start(options: ApiServerOptions): Promise<ApiServer> {
    const server = new ApiServer(options)
    try {
      await server.#start(options)
      return server
    } catch (error) {
      await server.stop()
      throw error
    }
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** Undefined if priority and fairness is not enabled. */
  get flowControl(): FlowControl | undefined {
    return this.#flowControl
  }

  /** Rejects resource requests from now on and ends watches. */
  async stop(): Promise<void> {
    this.#isReady = false
    await this.#peers?.stop()
    this.#stopping.abort()
    await this.#running
    await this.#registry.admission.stop()
    await this.#remotes.disposeAsync()
  }

  async #start(options: ApiServerOptions): Promise<void> {
    const { platform, advertise, serviceCidrs, limits, sharedStore, authentication = {} } = options
    const { startHooks = new PostStartHooks(), featureGates } = options
    const { signal } = this.#stopping
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const cacheRun = this.#cache.run(signal, resolve).catch((error: unknown) => {
      this.#isReady = false
      if (!signal.aborted) platform.log.error('watch cache stopped: lost connection to the store', { error })
      reject(error)
    })
    this.#running = Promise.all([cacheRun, this.#runCompactor(options)]).then(() => undefined)
    await promise
    startHooks.finish(...watchCacheHooks)
    await this.#registry.admission.start()
    startHooks.finish('start-apiserver-admission-initializer')
    // Bootstrap writes bypass admission; otherwise a failing webhook could prevent startup and could not be
    // removed.
    const own = { ...this.#registry, admission: noAdmission }
    const { address, port } = advertise ?? defaultAdvertise
    const first = {
      serviceCidrs: serviceCidrs ?? defaultServiceCidrs,
      advertiseAddress: address,
      port,
      authentication,
      startHooks,
      isStoreShared: sharedStore !== undefined,
    }
    await whenAvailable(platform, signal, async () => {
      await bootstrap(own, first)
      await reconcileRoles(own, featureGates)
      startHooks.finish('rbac/bootstrap-roles')
    })
    this.#peers = sharedStore && (await ApiServerPeers.join(own, { service: first, ...sharedStore, signal }))
    recordStoreAlarms(own, signal)
    keepAuthenticationTrust(own, authentication, signal)
    startHooks.finish('start-cluster-authentication-info-controller')
    this.#customResources.load()
    startHooks.finish('crd-informer-synced')
    this.#aggregator.load(signal)
    startHooks.finish('start-kube-aggregator-informers')
    await whenAvailable(platform, signal, () => this.#aggregator.register())
    startHooks.finish('apiservice-registration-controller', 'kube-apiserver-autoregistration')
    const aggregatorRun = this.#aggregator.run(signal)
    const customResourcesRun = this.#customResources.run(signal)
    const repairRun = new AllocationRepair(this.#registry).run(signal)
    const sayingRun =
      limits?.fairness === 'priority and fairness' ? reconcileDanglingConditions(own, signal) : undefined
    this.#running = Promise.all([
      this.#running,
      customResourcesRun,
      aggregatorRun,
      repairRun,
      this.#peers?.run(signal),
      sayingRun,
      ...this.#followFiles(options),
    ]).then(() => undefined)
    startHooks.finish(...controllerHooks)
    this.#isReady = true
  }

  #followFiles({ platform, reloads = {} }: ApiServerOptions): readonly Promise<void>[] {
    const { signal } = this.#stopping
    const replaceIssuers = this.authentication.replaceIssuers.bind(this.authentication)
    return [
      followFile(platform, reloads.authorizers, { apply: this.#replaceAuthorizers, signal }),
      followFile(platform, reloads.issuers, { apply: replaceIssuers, signal }),
    ]
  }

  async #runCompactor(options: ApiServerOptions): Promise<void> {
    const { platform, store, compactionIntervalMs: keepMs = defaultCompactionIntervalMs } = options
    const { clock, log } = platform
    const { signal } = this.#stopping
    if (keepMs === 0) return
    try {
      await new Compactor({ store, clock, log, keepMs }).run(signal)
    } catch (error) {
      if (!signal.aborted) log.error('compaction stopped', { error })
    }
  }

  #createPlugins(
    { admission, connectHttp, tolerationSeconds }: ApiServerOptions,
    parts: Omit<Registry, 'admission' | 'cache'>,
  ): readonly AdmissionPlugin[] {
    const currentCache = (): ObjectCache => this.#extension?.filtered.cache ?? this.#cache
    const context: PluginContext = {
      ...parts,
      get cache() {
        return currentCache()
      },
      extendRegistry: extension => (this.#extension = extension),
      // The authorizer reads the cache, which a plugin may extend.
      authorizer: { authorize: attributes => this.authorizer.authorize(attributes) },
      ...(connectHttp && { connectHttp }),
      ...(tolerationSeconds && { tolerationSeconds }),
    }
    return admission?.(context) ?? []
  }

  /** The request pipeline, in order. */
  #stages(options: ApiServerOptions): readonly Stage[] {
    const { platform, audit, limits, memory, observability, metrics } = options
    const { requestTimeoutMs = defaultRequestTimeoutMs } = options
    const { clock } = platform
    const measured = (name: FilterName): readonly Stage[] =>
      metrics ? [measureFilter(metrics, clock, name)] : []
    return [
      ...this.#measuring(options),
      requestTimeout({ clock, metrics }, requestTimeoutMs),
      ...(audit ? [audit.unauthenticatedStage] : []),
      authenticate(this.authentication, metrics && { metrics: metrics.access, clock }),
      ...measured('authentication'),
      ...(audit ? [audit.stage, ...measured('audit')] : []),
      impersonate(this.authorizer),
      ...measured('impersonation'),
      ...(limits ? [this.#limit(limits), ...measured('priorityandfairness')] : []),
      authorize(this.authorizer, metrics && { metrics: metrics.access, clock }),
      ...measured('authorization'),
      limitStreams(),
      ...(memory ? [guardMemory({ memory, release: () => this.#cache.release() })] : []),
      ...(observability ? [observability.stage] : []),
      requireReady(() => this.#isReady),
    ]
  }

  #limit(limits: RequestLimits): Stage {
    if (limits.fairness === 'max in flight') return maxInFlight(limits)
    this.#flowControl = new FlowControl({
      registry: this.#registry,
      seats: limits.readOnly + limits.mutating,
    })
    return this.#flowControl.stage
  }

  #measuring({ metrics, platform, build }: ApiServerOptions): readonly Stage[] {
    if (metrics === undefined) return []
    const { clock } = platform
    metrics.storage.readObjects(() => this.#countObjects())
    metrics.server.readBuild(versionInfo(build))
    metrics.server.readAllocations(
      () => clusterIpUse(this.#registry),
      () => nodePortUse(this.#registry),
    )
    return [measure({ metrics, clock, resourceOf: info => this.scheme.byResource(info) })]
  }

  *#countObjects(): Generator<ObjectCount, void, undefined> {
    for (const resource of this.scheme.resources()) {
      const { group, version, plural, storage } = resource
      if (storage.group !== group || storage.version !== version || !resource.verbs.includes('list')) continue
      const prefix = prefixOf(resource, '')
      const objects = this.#registry.cache.countAfter(prefix, prefix)
      yield { group, resource: plural, objects, sizeBytes: this.#cache.sizeBytes(prefix) }
    }
  }

  #handlers(connections: Pick<RouterOptions, 'subresources' | 'virtual'>): Omit<RouterOptions, 'registry'> {
    const { issuer } = this.authentication
    return {
      subresources: new Map<string, VerbHandlers>([
        ...subresources,
        ...(issuer ? [['serviceaccounts/token', tokenRequest(issuer)] as const] : []),
        ...connections.subresources,
      ]),
      virtual: new Map([
        ...accessReviews(this.authorizer),
        ...virtual,
        ['tokenreviews.authentication.k8s.io', tokenReview(this.authentication)],
        ...connections.virtual,
      ]),
    }
  }

  /** Subresources and resources that are served by calling kubelets and pods. */
  #connections({
    kubelets: access,
    platform,
  }: ApiServerOptions): Pick<RouterOptions, 'subresources' | 'virtual'> {
    if (access === undefined) return { subresources: new Map(), virtual: resourceMetrics(undefined) }
    const { authorizer } = this
    const { clock, log } = platform
    const kubelets = this.#remotes.use(new Kubelets(this.#registry, access))
    const others = this.#remotes.use(new RemoteClients(access.connectHttp))
    return {
      subresources: new Map([
        ['pods/log', podLog(kubelets)],
        ...podStreams({ kubelets, authorizer }),
        ...proxies({ kubelets, others, authorizer }),
      ]),
      virtual: resourceMetrics(new KubeletSummaries({ kubelets, clock, log })),
    }
  }

  #routeWith(handlers: Omit<RouterOptions, 'registry'>): Next {
    const registry = this.#registry
    const router = new Router({ registry, ...handlers })
    const route: Next = context => {
      const { info } = context
      return info.isResource ? router.route(context, info) : this.#answerPath(context)
    }
    if (this.#extension === undefined) return context => this.#aggregator.handle(context) ?? route(context)
    const { unfiltered, isUnfiltered } = this.#extension
    const unfilteredRouter = new Router({ registry: { ...registry, ...unfiltered }, ...handlers })
    return context => {
      const { info } = context
      const forwarded = this.#aggregator.handle(context)
      if (forwarded) return forwarded
      return info.isResource && isUnfiltered(context) ? unfilteredRouter.route(context, info) : route(context)
    }
  }

  async #answerPath(context: RequestContext): Promise<ApiResponse> {
    const response =
      this.#issuerMetadata?.handle(context) ??
      this.#discovery.handle(context) ??
      (await this.#openApi.handle(context))
    if (response) return response
    throw this.#isRouted(context.request.path) ? noSuchResource() : new PathNotFoundError()
  }

  /** True below paths of built-in APIs, whose errors are a Status. */
  #isRouted(path: string): boolean {
    const [, root, group = ''] = path.split('/', 3)
    return root === 'api' || root === 'version' || (root === 'apis' && isBuiltInGroup(this.scheme, group))
  }
}

const defaultAdvertise: Advertise = { address: '127.0.0.1', port: 6443 }

const defaultServiceCidrs = ['10.96.0.0/16']

const defaultRequestTimeoutMs = 60_000

/** Decoded objects take up to eight times their stored size, so that they fill at most half of the heap. */
const decodedHeapShare = 16

const defaultCompactionIntervalMs = 300_000
