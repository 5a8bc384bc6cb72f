/**
 * The API server: the only component that accesses the store. It serves the resources of its scheme from a
 * cache of the whole cluster, to HTTP clients through `server.ts` and to in-process components through
 * `handle`.
 */
import { defaultResources } from '#/api/builtin.ts'
import { apiError, isApiError } from '#/api/errors.ts'
import type { Resource } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessMemory } from '#/platform/process-usage.ts'
import { Compactor } from '#/store/compactor.ts'
import { StoreError, type Store } from '#/store/store.ts'
import type { AdmissionPluginFactory } from './admission.ts'
import { AdmissionChain, noAdmission, type AdmissionPlugin } from './admission/admission-chain.ts'
import type { PluginContext, TolerationSeconds } from './admission/plugin-context.ts'
import {
  mutatingAdmissionPolicyHooks,
  validatingAdmissionPolicyHooks,
  webhookConfigurationHooks,
} from './admission/admission-registration-hooks.ts'
import { Aggregator, type ProxyClientCertificate } from './aggregator.ts'
import { CustomResources } from './apiextensions/custom-resources.ts'
import { customResourceDefinitionHooks } from './apiextensions/definition-hooks.ts'
import type { PortRange } from './allocation/node-ports.ts'
import { AllocationRepair } from './allocation/repair.ts'
import { serviceHooks } from './allocation/service-hooks.ts'
import type { Audit } from './audit.ts'
import { Authentication, type AuthenticationSettings } from './authn.ts'
import { impersonate } from './authn/impersonation.ts'
import { ServiceAccountIssuerDiscovery, keysPath } from './authn/service-account-issuer-discovery.ts'
import { createAuthz, defaultAuthorizers, reconcileRoles, type AuthorizerSettings } from './authz.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { bootstrap, keepAuthenticationTrust } from './bootstrap.ts'
import { Discovery } from './discovery.ts'
import type { Build } from './discovery/server-version.ts'
import { limitRequests, type RequestLimits } from './flow-control.ts'
import { guardMemory } from './memory-guard.ts'
import { reconcileDanglingConditions } from './flow-control/dangling-schemas.ts'
import { OpenApi } from './openapi.ts'
import { measure } from './measure.ts'
import type { Metrics, ObjectCount } from './metrics.ts'
import { pipeline, type Handle, type Next, type Stage } from './pipeline.ts'
import { certificateRequestHooks } from './registry/certificate-request-hooks.ts'
import type { ResourceHooks } from './registry/hooks.ts'
import { WatchCache, type ObjectCache } from './registry/watch-cache.ts'
import type { Registry, RegistryExtension } from './registry/registry.ts'
import { prefixOf, storeRoot } from './registry/store-keys.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { Router, type RouterOptions, type VerbHandlers } from './router.ts'
import { KubeletSummaries } from './kubelet-summaries.ts'
import { Kubelets, type KubeletAccess } from './kubelets.ts'
import { RemoteClients } from './proxy/remote-clients.ts'
import { binding } from './subresources/binding.ts'
import { eviction } from './subresources/eviction.ts'
import { podLog } from './subresources/pod-log.ts'
import { podStreams } from './subresources/pod-streams.ts'
import { proxies } from './subresources/proxy.ts'
import { scale } from './subresources/scale.ts'
import { tokenRequest } from './subresources/token-request.ts'
import { componentStatuses } from './virtual/component-statuses.ts'
import { nodeMetrics, podMetrics } from './virtual/metrics-resources.ts'
import { resourceMetrics } from './virtual/resource-metrics.ts'
import { accessReviews, tokenReview } from './virtual/reviews.ts'
import { authenticate, authorize, requestTimeout, requireReady } from './stages.ts'
import { recordStoreAlarms } from './store-alarms.ts'

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
  /** Owned by the caller, which runs it longer than the server. */
  readonly audit?: Audit
  /** Serves health and metrics; see `observability.ts`. */
  readonly observability?: Stage
  /** The memory of the process; unlimited when absent. */
  readonly memory?: ProcessMemory
  /** Limits on concurrent requests; unlimited when absent. */
  readonly limits?: RequestLimits
  /** Timeout for requests that are not long-running. */
  readonly requestTimeoutMs?: number
  readonly tolerationSeconds?: TolerationSeconds
  /** Absent when metrics are not recorded. */
  readonly metrics?: Metrics
  /** The address and port at which pods and nodes reach this server. */
  readonly advertise?: Advertise
  /** Service CIDRs, one per IP family, the default family first. */
  readonly serviceCidrs?: readonly string[]
  readonly nodePorts?: PortRange
  /** TTL of Events. */
  readonly eventTtlMs?: number
  /** Time until old revisions of the store are compacted; 0 never. */
  readonly compactionIntervalMs?: number
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
  readonly #cache: WatchCache
  readonly #registry: Registry
  #extension: RegistryExtension | undefined
  readonly #discovery: Discovery
  readonly #openApi: OpenApi
  readonly #customResources: CustomResources
  readonly #aggregator: Aggregator
  readonly #issuerMetadata: ServiceAccountIssuerDiscovery | undefined
  readonly #stopping = new AbortController()
  /** Connections to kubelets and other servers. */
  readonly #remotes = new AsyncDisposableStack()
  #running: Promise<void> = Promise.resolve()
  #isReady = false

  private constructor(options: ApiServerOptions) {
    const { platform, store, build } = options
    const { address, port } = options.advertise ?? defaultAdvertise
    this.scheme = new Scheme(resourcesOf(options))
    const { memory } = options
    const decodedBytesMax = memory ? memory.heapBytesMax / decodedHeapShare : Infinity
    this.#cache = new WatchCache({ store, platform, prefix: storeRoot, decodedBytesMax })
    const { nodePorts, connectHttp } = options
    const parts = { platform, store, scheme: this.scheme, hooks, ...(nodePorts && { nodePorts }) }
    const plugins = this.#createPlugins(options, parts)
    const { cache = this.#cache, genericHooks } = this.#extension?.filtered ?? {}
    const { authorizer, escalation } = createAuthz({
      cache,
      platform,
      authorizers: options.authorizers ?? defaultAuthorizers,
      ...(connectHttp && { connectHttp }),
    })
    this.authorizer = authorizer
    this.#registry = {
      ...parts,
      cache,
      admission: new AdmissionChain([...plugins, escalation]),
      ...(genericHooks && { genericHooks }),
    }
    const own = { ...this.#registry, admission: noAdmission }
    this.#customResources = new CustomResources(own, connectHttp)
    const { proxyClient, metrics } = options
    this.#aggregator = this.#remotes.use(new Aggregator({ registry: own, connectHttp, proxyClient, metrics }))
    this.#discovery = new Discovery(this.scheme, {
      build,
      serverAddress: `${address}:${port}`,
      aggregatedVersions: () => this.#aggregator.versions(),
    })
    this.#openApi = new OpenApi(this.scheme, {
      build,
      clock: platform.clock,
      authoredSchema: resource => this.#customResources.authoredSchema(resource),
      aggregatedSchemas: () => this.#aggregator.schemas(),
    })
    const registry = this.#registry
    this.authentication = new Authentication({ platform, registry, ...options.authentication })
    const { issuer } = this.authentication
    const keysUrl = `https://${address.includes(':') ? `[${address}]` : address}:${port}${keysPath}`
    this.#issuerMetadata = issuer && new ServiceAccountIssuerDiscovery({ issuer, keysUrl })
    const connections = this.#connections(options)
    const handlers = {
      subresources: new Map<string, VerbHandlers>([
        ...subresources,
        ...(issuer ? [['serviceaccounts/token', tokenRequest(issuer)] as const] : []),
        ...connections.subresources,
      ]),
      virtual: new Map([
        ...accessReviews(authorizer),
        ...virtual,
        ['tokenreviews.authentication.k8s.io', tokenReview(this.authentication)],
        ...connections.virtual,
      ]),
    }
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

  /** Rejects resource requests from now on and ends watches. */
  async stop(): Promise<void> {
    this.#isReady = false
    this.#stopping.abort()
    await this.#running
    await this.#registry.admission.stop()
    await this.#remotes.disposeAsync()
  }

  async #start(options: ApiServerOptions): Promise<void> {
    const { platform, advertise, serviceCidrs, limits, authentication = {} } = options
    const { signal } = this.#stopping
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const cacheRun = this.#cache.run(signal, resolve).catch((error: unknown) => {
      this.#isReady = false
      if (!signal.aborted) platform.log.error('watch cache stopped: lost connection to the store', { error })
      reject(error)
    })
    this.#running = Promise.all([cacheRun, this.#runCompactor(options)]).then(() => undefined)
    await promise
    await this.#registry.admission.start()
    // Bootstrap writes bypass admission; otherwise a failing webhook could prevent startup and could not be
    // removed.
    const own = { ...this.#registry, admission: noAdmission }
    const { address, port } = advertise ?? defaultAdvertise
    const first = {
      serviceCidrs: serviceCidrs ?? defaultServiceCidrs,
      advertiseAddress: address,
      port,
      authentication,
    }
    await whenAvailable(platform, signal, async () => {
      await bootstrap(own, first)
      await reconcileRoles(own)
    })
    recordStoreAlarms(own, signal)
    keepAuthenticationTrust(own, authentication, signal)
    this.#customResources.load()
    this.#aggregator.load(signal)
    await whenAvailable(platform, signal, () => this.#aggregator.register())
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
      sayingRun,
    ]).then(() => undefined)
    this.#isReady = true
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
    { admission, connectHttp, tolerationSeconds, metrics }: ApiServerOptions,
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
      ...(metrics && { metrics }),
    }
    return admission?.(context) ?? []
  }

  /** The request pipeline, in order. */
  #stages(options: ApiServerOptions): readonly Stage[] {
    const { platform, audit, limits, memory, observability } = options
    const { requestTimeoutMs = defaultRequestTimeoutMs } = options
    return [
      ...this.#measuring(options),
      requestTimeout(platform, requestTimeoutMs),
      ...(audit ? [audit.unauthenticatedStage] : []),
      authenticate(this.authentication),
      ...(audit ? [audit.stage] : []),
      impersonate(this.authorizer),
      ...(limits ? [limitRequests(this.#registry, limits)] : []),
      authorize(this.authorizer),
      ...(memory ? [guardMemory({ memory, release: () => this.#cache.releaseDecoded() })] : []),
      ...(observability ? [observability] : []),
      requireReady(() => this.#isReady),
    ]
  }

  #measuring({ metrics, platform: { clock } }: ApiServerOptions): readonly Stage[] {
    if (metrics === undefined) return []
    metrics.readObjects(() => this.#countObjects())
    return [measure({ metrics, clock, isServed: info => this.scheme.byResource(info) !== undefined })]
  }

  *#countObjects(): Generator<ObjectCount, void, undefined> {
    for (const resource of this.scheme.resources()) {
      const { group, version, plural, storage } = resource
      if (storage.group !== group || storage.version !== version || !resource.verbs.includes('list')) continue
      const prefix = prefixOf(resource, '')
      yield { group, resource: plural, objects: this.#registry.cache.countAfter(prefix, prefix) }
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
    throw apiError('NotFound', 'the server could not find the requested resource')
  }
}

const defaultAdvertise: Advertise = { address: '127.0.0.1', port: 6443 }

const defaultServiceCidrs = ['10.96.0.0/16']

const defaultRequestTimeoutMs = 60_000

/** Decoded objects take up to eight times their stored size, so that they fill at most half of the heap. */
const decodedHeapShare = 16

/** The built-in resources, with the configured TTL for Events. */
function resourcesOf(options: ApiServerOptions): readonly Resource[] {
  const { eventTtlMs: ttlMs, kubelets, servesResourceMetrics = kubelets !== undefined } = options
  const resources = [...defaultResources(), ...(servesResourceMetrics ? [nodeMetrics, podMetrics] : [])]
  if (ttlMs === undefined) return resources
  return resources.map(resource =>
    resource.rules?.ttlMs === undefined ? resource : { ...resource, rules: { ...resource.rules, ttlMs } },
  )
}

/** Subresources with their own handlers that need no other server. */
const subresources: RouterOptions['subresources'] = new Map<string, VerbHandlers>([
  ['*/scale', scale],
  ['pods/binding', binding],
  ['pods/eviction', eviction],
])

const virtual: RouterOptions['virtual'] = new Map<string, VerbHandlers>([
  ['bindings', binding],
  ['componentstatuses', componentStatuses],
])

const hooks: ReadonlyMap<string, ResourceHooks> = new Map([
  ['services', serviceHooks],
  ['certificatesigningrequests.certificates.k8s.io', certificateRequestHooks],
  ['customresourcedefinitions.apiextensions.k8s.io', customResourceDefinitionHooks],
  ['mutatingadmissionpolicies.admissionregistration.k8s.io', mutatingAdmissionPolicyHooks],
  ['mutatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationHooks],
  ['validatingadmissionpolicies.admissionregistration.k8s.io', validatingAdmissionPolicyHooks],
  ['validatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationHooks],
])

const defaultCompactionIntervalMs = 300_000

/** Retries while the store is unavailable, e.g. during a leader election. `work` must be idempotent. */
async function whenAvailable(
  { clock, log }: Platform,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isLater = isApiError(error, 'ServiceUnavailable') || isApiError(error, 'Timeout')
      const cause = isApiError(error) ? error.cause : error
      const isUnavailable = cause instanceof StoreError && ['unavailable', 'full'].includes(cause.reason)
      if (signal.aborted || !(isLater || isUnavailable)) throw error
      log.warn('store unavailable, retrying bootstrap', { error })
      await clock.sleep(storeRetryMs, signal)
    }
  }
}

const storeRetryMs = 500
