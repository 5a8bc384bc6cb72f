/**
 * The API server: the only component that accesses the store. It serves the resources of its scheme from a
 * cache of the whole cluster, to HTTP clients through `server.ts` and to in-process components through
 * `handle`.
 */
import type { Resource } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import { Compactor } from '#/store/compactor.ts'
import { AdmissionChain, noAdmission, type AdmissionPlugin } from './admission/admission-chain.ts'
import type { PluginContext } from './admission/plugin-context.ts'
import type { Advertise, ApiServerOptions } from './api-server-options.ts'
import { Aggregator } from './aggregator.ts'
import { CustomResources } from './apiextensions/custom-resources.ts'
import { clusterIpUse } from './allocation/cluster-ips.ts'
import { nodePortUse } from './allocation/node-ports.ts'
import { AllocationRepair } from './allocation/repair.ts'
import { Authentication } from './authn.ts'
import { impersonate } from './authn/impersonation.ts'
import { ServiceAccountIssuerDiscovery, keysPath } from './authn/service-account-issuer-discovery.ts'
import { createAuthz, defaultAuthorizers, reconcileRoles, type Authz } from './authz.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { ApiServerPeers, bootstrap, keepAuthenticationTrust } from './bootstrap.ts'
import { Discovery } from './discovery.ts'
import { versionInfo } from './discovery/server-version.ts'
import { hooks, resourcesOf, subresources, virtual } from './builtin-handlers.ts'
import { FlowControl, type RequestLimits } from './flow-control.ts'
import { maxInFlight } from './flow-control/max-in-flight.ts'
import { guardMemory } from './memory-guard.ts'
import { reconcileDanglingConditions } from './flow-control/dangling-schemas.ts'
import { OpenApi } from './openapi.ts'
import { measure, measureFilter } from './measure.ts'
import type { ObjectCount } from './metrics.ts'
import type { FilterName } from './metrics/requests.ts'
import { controllerHooks, PostStartHooks, watchCacheHooks } from './post-start-hooks.ts'
import { PathNotFoundError, pipeline, type Handle, type Next, type Stage } from './pipeline.ts'
import { ObjectHistory } from './object-history.ts'
import { HistoryPaths } from './object-history/history-paths.ts'
import type { ActiveWatch } from './registry/active-watch.ts'
import { WatchCache, type ObjectCache } from './registry/watch-cache.ts'
import type { Registry, RegistryExtension } from './registry/registry.ts'
import { prefixOf, storeRoot } from './registry/store-keys.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { recordOrigin } from './request-origin.ts'
import { followFile } from './reloaded-file.ts'
import { Router, type RouterOptions, type VerbHandlers } from './router.ts'
import { KubeletSummaries } from './kubelet-summaries.ts'
import { Kubelets } from './kubelets.ts'
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

export class ApiServer {
  readonly scheme: Scheme
  readonly handle: Handle
  readonly authentication: Authentication
  readonly authorizer: Authorizer
  readonly #replaceAuthorizers: Authz['replaceAuthorizers']
  readonly #cache: WatchCache
  readonly #history: ObjectHistory | undefined
  readonly #historyPaths: HistoryPaths
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
    const { metrics, history: recorded } = options
    const history = recorded && new ObjectHistory({ ...recorded, platform, store, scheme: this.scheme })
    this.#history = history
    const cached = { store, platform, prefix: storeRoot, decodedBytesMax, metrics }
    this.#cache = new WatchCache({ ...cached, recorder: history?.recorder })
    memory?.onIdle(() => this.#cache.release())
    const { nodePorts, connectHttp } = options
    const parts = {
      platform,
      store,
      scheme: this.scheme,
      watches: new Set<ActiveWatch>(),
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
      ...(history && { history }),
    }
    this.#historyPaths = this.#readHistory(options)
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

  /** The watches that are being served. */
  get watches(): ReadonlySet<ActiveWatch> {
    return this.#registry.watches
  }

  /** Revision of the last change of an object of the resource. */
  lastChange(resource: Resource): number {
    return this.#cache.lastChange(prefixOf(resource, ''))
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
    const historyRun = this.#history?.run(signal)
    this.#running = Promise.all([cacheRun, this.#runCompactor(options), historyRun]).then(() => undefined)
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

  #readHistory({ platform: { clock }, passes }: ApiServerOptions): HistoryPaths {
    const history = this.#history
    const { authorizer } = this
    history?.readFrom({ cache: this.#cache, authorizer })
    return new HistoryPaths({ clock, authorizer, isReady: () => this.#isReady, history, passes })
  }

  /** The request pipeline, in order. */
  #stages(options: ApiServerOptions): readonly Stage[] {
    const { platform, audit, limits, memory, observability, metrics } = options
    const { requestTimeoutMs = defaultRequestTimeoutMs } = options
    const { recordsOrigins = options.history !== undefined } = options
    const { clock } = platform
    const measured = (name: FilterName): readonly Stage[] =>
      metrics || recordsOrigins ? [measureFilter(metrics, clock, name)] : []
    return [
      ...this.#measuring(options),
      ...(recordsOrigins ? [recordOrigin(clock)] : []),
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

  #measuring({ metrics, platform, build, history }: ApiServerOptions): readonly Stage[] {
    if (metrics === undefined) return []
    const { clock } = platform
    metrics.storage.readObjects(() => this.#countObjects())
    metrics.server.readBuild(versionInfo(build))
    if (history) metrics.history.readStatus(() => history.log.status)
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
      this.#historyPaths.handle(context) ??
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
