/**
 * API aggregation: group versions served by extension servers, which APIServices register. Requests for them are
 * forwarded, their discovery and OpenAPI documents are merged with those of this server, and the `Available`
 * condition of their APIServices is maintained. The group versions of this server are registered, too.
 * https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
 */
import { apiVersionOf, type GroupVersion } from '#/api/resource.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import { ApiServices, type ApiServiceChange, type RemoteApiService } from './aggregator/api-services.ts'
import { AvailabilityController } from './aggregator/availability.ts'
import { ExtensionDocuments } from './aggregator/extension-documents.ts'
import { ExtensionProxy } from './aggregator/extension-proxy.ts'
import { ExtensionServers, type ProxyClientCertificate } from './aggregator/extension-servers.ts'
import { LocalRegistration } from './aggregator/local-registration.ts'
import { defaultPriority } from './aggregator/priorities.ts'
import type { AggregatedVersions } from './discovery/served-groups.ts'
import type { Metrics } from './metrics.ts'
import type { AggregatedSchemas } from './openapi.ts'
import { sectionName } from './openapi/sections.ts'
import type { Registry } from './registry/registry.ts'
import type { RequestInfo } from './request-info.ts'
import type { ApiResponse, RequestContext } from './request.ts'

export type { ProxyClientCertificate } from './aggregator/extension-servers.ts'

export interface AggregatorOptions {
  /** The registry's admission must admit everything: the writes are those of the server itself. */
  readonly registry: Registry
  /** Without it no extension server is available. */
  readonly connectHttp: HttpConnect | undefined
  /** Proves to extension servers that requests come from this server. */
  readonly proxyClient: (() => ProxyClientCertificate) | undefined
  readonly metrics: Metrics | undefined
}

export class Aggregator implements AsyncDisposable {
  readonly #apiServices: ApiServices
  readonly #servers: ExtensionServers
  readonly #registration: LocalRegistration
  readonly #availability: AvailabilityController
  readonly #documents: ExtensionDocuments
  readonly #proxy: ExtensionProxy
  #versions: AggregatedVersions | undefined
  #schemas: AggregatedSchemas | undefined

  constructor({ registry, connectHttp, proxyClient, metrics }: AggregatorOptions) {
    const { platform } = registry
    this.#apiServices = new ApiServices(registry)
    this.#servers = new ExtensionServers({ registry, connectHttp, proxyClient })
    this.#registration = new LocalRegistration(registry, this.#apiServices)
    const parts = { apiServices: this.#apiServices, servers: this.#servers }
    this.#availability = new AvailabilityController({ registry, metrics, ...parts })
    this.#documents = new ExtensionDocuments({ platform, ...parts, onChange: () => this.#forget() })
    this.#proxy = new ExtensionProxy({ platform, servers: this.#servers })
    metrics?.readApiServices(() => this.#apiServices.all())
    this.#apiServices.onChange((_name, change) => {
      if (changesDiscovery(change)) this.#forget()
    })
  }

  /** Reads the APIServices, and follows them until aborted. */
  load(signal: AbortSignal): void {
    this.#apiServices.follow(signal)
    this.#registration.load()
  }

  /** Resolves when the group versions of this server are registered. May be called again after a failure. */
  register(): Promise<void> {
    return this.#registration.start()
  }

  /** Follows the cluster and the extension servers until aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#registration, this.#availability, this.#documents].map(each => each.run(signal)))
  }

  /** Undefined for requests that this server answers itself. Rejects with ApiError. */
  handle(context: RequestContext): Promise<ApiResponse> | undefined {
    const remote = this.#remoteFor(context.info)
    return remote && this.#proxy.forward(context, remote)
  }

  /** The same object until it changes. */
  versions(): AggregatedVersions {
    this.#versions ??= {
      extensions: Array.from(this.#apiServices.remotes(), remote => {
        const { group, version } = remote
        const { resources, freshness } = this.#documents.of(remote)
        return { group, version, resources, freshness }
      }),
      priorities: new Map(Array.from(this.#apiServices.all(), each => [apiVersionOf(each), each])),
    }
    return this.#versions
  }

  /** The same object until it changes. */
  schemas(): AggregatedSchemas {
    if (this.#schemas === undefined) {
      const all = Array.from(this.#apiServices.remotes(), remote => ({
        name: sectionName(remote),
        ...this.#documents.of(remote),
      }))
      this.#schemas = {
        version3: new Map(all.map(({ name, openApiUrl }) => [name, openApiUrl])),
        version2: all.flatMap(({ openApiPart }) => openApiPart ?? []),
      }
    }
    return this.#schemas
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#servers[Symbol.asyncDispose]()
  }

  #forget(): void {
    this.#versions = undefined
    this.#schemas = undefined
  }

  #remoteFor(info: RequestInfo): RemoteApiService | undefined {
    const groupVersion = info.isResource ? info : groupVersionOf(info.path)
    return groupVersion && this.#apiServices.remote(groupVersion)
  }
}

/** Most changes are those of local APIServices, which only follow the scheme. */
function changesDiscovery({ before, after }: ApiServiceChange): boolean {
  const either = after ?? before
  if (either === undefined) return false
  if (before?.server !== undefined || after?.server !== undefined) return true
  const [left, right] = [before ?? defaultPriority(either), after ?? defaultPriority(either)]
  return (
    left.groupPriorityMinimum !== right.groupPriorityMinimum || left.versionPriority !== right.versionPriority
  )
}

/** Of a path that is not a resource: discovery, or the OpenAPI v3 document, of a group version. */
function groupVersionOf(path: string): GroupVersion | undefined {
  const segments = path.split('/').filter(segment => segment !== '')
  const [root, group, version] =
    segments[0] === 'openapi' && segments[1] === 'v3' ? segments.slice(2) : segments
  if (root === 'api' && group !== undefined) return { group: '', version: group }
  return root === 'apis' && group !== undefined && version !== undefined ? { group, version } : undefined
}
