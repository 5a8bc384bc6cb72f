/**
 * The API server: the only component that touches the store. It serves the kinds of its scheme from a cache
 * of the whole
 * cluster, to HTTP clients through `server.ts` and to components in the same process through `handle` itself.
 */
import { defaultResources } from '#/api/builtin.ts'
import { apiError } from '#/api/errors.ts'
import { Scheme } from '#/api/scheme.ts'
import type { Platform } from '#/platform/platform.ts'
import { Compactor } from '#/store/compactor.ts'
import type { Store } from '#/store/store.ts'
import type { MakeAdmissionPlugins } from './admission.ts'
import { Admission } from './admission/admission.ts'
import { serviceHooks } from './allocation/service-hooks.ts'
import { Authentication, type AuthenticationSettings } from './authn.ts'
import { impersonate } from './authn/impersonate.ts'
import { IssuerMetadata, keysPath } from './authn/issuer-metadata.ts'
import { createAuthz, defaultModes, reconcileRoles, type AuthorizationMode } from './authz.ts'
import type { Authorizer } from './authz/authorizer.ts'
import { bootstrap } from './bootstrap.ts'
import { Discovery } from './discovery.ts'
import type { Build } from './discovery/server-version.ts'
import { OpenApi } from './openapi.ts'
import { measure } from './measure.ts'
import type { Metrics, ObjectCount } from './metrics.ts'
import { pipeline, type Handle, type Stage } from './pipeline.ts'
import { certificateRequestHooks } from './registry/certificate-request-hooks.ts'
import type { ResourceHooks } from './registry/hooks.ts'
import { ObjectCache } from './registry/object-cache.ts'
import type { Registry } from './registry/registry.ts'
import { prefixOf, storeRoot } from './registry/store-keys.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { Router, type RouterOptions, type VerbHandlers } from './router.ts'
import { subresources } from './subresources.ts'
import { binding } from './subresources/binding.ts'
import { tokenRequest } from './subresources/token-request.ts'
import { accessReviews } from './virtual/access-reviews.ts'
import { componentStatuses } from './virtual/component-statuses.ts'
import { tokenReview } from './virtual/token-review.ts'
import { authenticate, authorize, limitTime, whenReady } from './stages.ts'

export interface ApiServerOptions {
  readonly platform: Platform
  /** Belongs to the caller, who closes it after the server has stopped. */
  readonly store: Store
  /** What the program says of itself. */
  readonly build: Build
  /** Makes what may change and refuse writes, in order; see `readAdmission`. */
  readonly admission?: MakeAdmissionPlugins
  /** Which credentials are taken; certificates alone when absent. */
  readonly authentication?: AuthenticationSettings
  /** Who is asked whether somebody may do something, in order; nodes' rules and roles when absent. */
  readonly authorizationModes?: readonly AuthorizationMode[]
  /** Counts requests, when somebody wants to know. */
  readonly metrics?: Metrics
  /** Where pods and nodes reach this server. */
  readonly advertise?: Advertise
  /** The range that services get their addresses from. */
  readonly serviceCidr?: string
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
  readonly #registry: Registry
  readonly #discovery: Discovery
  readonly #openApi: OpenApi
  readonly #issuerMetadata: IssuerMetadata | undefined
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #isReady = false

  private constructor(options: ApiServerOptions) {
    const { platform, store, build } = options
    const { address, port } = options.advertise ?? defaultAdvertise
    this.scheme = new Scheme(defaultResources())
    const cache = new ObjectCache({ store, platform, prefix: storeRoot })
    const parts = { platform, store, cache, scheme: this.scheme, hooks }
    const { authorizer, escalation } = createAuthz({
      cache,
      modes: options.authorizationModes ?? defaultModes,
    })
    this.authorizer = authorizer
    const plugins = options.admission?.({ ...parts, authorizer }) ?? []
    this.#registry = { ...parts, admission: new Admission([...plugins, escalation]) }
    this.#discovery = new Discovery(this.scheme, { build, serverAddress: `${address}:${port}` })
    this.#openApi = new OpenApi(this.scheme, { build, clock: platform.clock })
    const registry = this.#registry
    this.authentication = new Authentication({ platform, registry, ...options.authentication })
    const { issuer } = this.authentication
    const keysUrl = `https://${address.includes(':') ? `[${address}]` : address}:${port}${keysPath}`
    this.#issuerMetadata = issuer && new IssuerMetadata({ issuer, keysUrl })
    const router = new Router({
      registry,
      subresources: issuer
        ? new Map([...subresources, ['serviceaccounts/token', tokenRequest(issuer)]])
        : subresources,
      virtual: new Map([
        ...accessReviews(authorizer),
        ...virtual,
        ['tokenreviews.authentication.k8s.io', tokenReview(this.authentication)],
      ]),
    })
    const stages = [
      ...this.#measuring(options),
      limitTime(platform),
      authenticate(this.authentication),
      impersonate(authorizer),
      authorize(authorizer),
      whenReady(() => this.#isReady),
    ]
    this.handle = pipeline(platform, stages, context => this.#route(router, context))
  }

  /** Resolves when the server can answer requests. */
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

  /** Requests for resources are refused from now on, and watches end. */
  async stop(): Promise<void> {
    this.#isReady = false
    this.#stopping.abort()
    await this.#running
  }

  async #start({ platform, store, advertise, serviceCidr }: ApiServerOptions): Promise<void> {
    const { signal } = this.#stopping
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const compactor = new Compactor({ store, clock: platform.clock, log: platform.log, keepMs: historyMs })
    const cacheRun = this.#registry.cache.run(signal, resolve).catch((error: unknown) => {
      this.#isReady = false
      if (!signal.aborted) platform.log.error('the store is lost', { error })
      reject(error)
    })
    const compactorRun = compactor.run(signal).catch((error: unknown) => {
      if (!signal.aborted) platform.log.error('the store is not compacted any more', { error })
    })
    this.#running = Promise.all([cacheRun, compactorRun]).then(() => undefined)
    await promise
    const { address, port } = advertise ?? defaultAdvertise
    await bootstrap(this.#registry, {
      serviceCidr: serviceCidr ?? defaultServiceCidr,
      advertiseAddress: address,
      port,
    })
    await reconcileRoles(this.#registry)
    this.#isReady = true
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

  async #route(router: Router, context: RequestContext): Promise<ApiResponse> {
    const { info } = context
    if (info.isResource) return router.route(context, info)
    const response =
      this.#issuerMetadata?.handle(context) ??
      this.#discovery.handle(context) ??
      (await this.#openApi.handle(context))
    if (response) return response
    throw apiError('NotFound', 'the server could not find the requested resource')
  }
}

const defaultAdvertise: Advertise = { address: '127.0.0.1', port: 6443 }

const defaultServiceCidr = '10.96.0.0/16'

const virtual: RouterOptions['virtual'] = new Map<string, VerbHandlers>([
  ['bindings', binding],
  ['componentstatuses', componentStatuses],
])

const hooks: ReadonlyMap<string, ResourceHooks> = new Map([
  ['services', serviceHooks],
  ['certificatesigningrequests.certificates.k8s.io', certificateRequestHooks],
])

/** How long earlier states can be read and watched from. */
const historyMs = 300_000
