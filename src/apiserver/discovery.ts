/**
 * Discovery: groups, versions and resources, and the server version. All documents are derived from the scheme and
 * from the documents of extension servers, created on first use and cached until one of these changes. Schemas are
 * served by `openapi.ts`.
 */
import { encodeProtobufWithoutVersion } from '#/api/protobuf.ts'
import type { Scheme } from '#/api/scheme.ts'
import { aggregatedDiscovery, prefersAggregated, type Root } from './discovery/aggregated.ts'
import { documentResponse, documentOf, type Document } from './discovery/document.ts'
import { DerivedCache } from './discovery/derived-cache.ts'
import { apiGroup, apiGroupList, apiVersions } from './discovery/groups.ts'
import { resourceList } from './discovery/resource-list.ts'
import {
  noAggregatedVersions,
  servedGroups,
  type AggregatedVersions,
  type ServedGroup,
} from './discovery/served-groups.ts'
import { versionInfo, type Build } from './discovery/server-version.ts'
import { mediaTypes, negotiate, type Negotiated } from './negotiation.ts'
import type { ApiRequest, ApiResponse, RequestContext } from './request.ts'
import { isProduced, methodNotAllowed, notProduced, producedTypes } from './served-routes.ts'
import { encodeValue } from './view.ts'

export { gitVersion } from './discovery/server-version.ts'

export interface DiscoveryOptions {
  readonly build: Build
  /** `host:port` at which clients reach the server. */
  readonly serverAddress: string
  /** Additional paths to list at `/`, such as health and metrics endpoints. */
  readonly paths?: () => readonly string[]
  /** Of the aggregator. */
  readonly aggregatedVersions?: () => AggregatedVersions
}

export class Discovery {
  readonly #scheme: Scheme
  readonly #options: DiscoveryOptions
  readonly #groups: DerivedCache<readonly ServedGroup[]>
  readonly #documents: DerivedCache<Document>

  constructor(scheme: Scheme, options: DiscoveryOptions) {
    const { aggregatedVersions = () => noAggregatedVersions } = options
    const sources = (): readonly unknown[] => [scheme.groups(), aggregatedVersions()]
    this.#scheme = scheme
    this.#options = options
    this.#groups = new DerivedCache(sources)
    this.#documents = new DerivedCache(sources)
  }

  /** Undefined if the path is not a discovery path. Throws ApiError 405 and 406. */
  handle({ request, info }: Pick<RequestContext, 'request' | 'info'>): ApiResponse | undefined {
    if (info.isResource) return undefined
    const path = info.path === '/index.html' ? '/' : info.path.replace(/(?<=.)\/$/, '')
    const root = path === '/api' || path === '/apis' ? (path.slice(1) as Root) : undefined
    const isAggregated = root !== undefined && prefersAggregated(request.headers['accept'])
    const document = isAggregated
      ? this.#documents.get(`${path} aggregated`, () => aggregatedDiscovery(this.#servedGroups(), root))
      : this.#plainDocument(path, request)
    if (document === undefined) return undefined
    // As in Kubernetes, documents without a route are served whatever the method.
    if (producedFor(path) && info.verb !== 'get') throw methodNotAllowed()
    return documentResponse(request, document, isAggregated ? { 'cache-control': 'public' } : {})
  }

  #plainDocument(path: string, { headers, query }: ApiRequest): Document | undefined {
    // Other paths must not fail content negotiation with 406.
    if (!/^\/(?:$|api$|apis$|api\/|apis\/|version$)/.test(path)) return undefined
    const isJsonOnly = path === '/' || path === '/version'
    const produced = producedFor(path)
    if (produced && !isProduced(headers['accept'] ?? '', produced)) {
      if (this.#value(path) === undefined) return undefined
      throw notProduced(produced)
    }
    const { format, pretty }: Pick<Negotiated, 'format' | 'pretty'> = isJsonOnly
      ? { format: 'json', pretty: true }
      : negotiate(headers['accept'], query, headers['user-agent'])
    const make = (): Document | undefined => {
      const value = this.#value(path)
      return value && encoded(value, { format, pretty })
    }
    // The additional paths are not among the sources of the cache.
    return path === '/' ? make() : this.#documents.get(`${path} ${format} ${pretty}`, make)
  }

  #servedGroups(): readonly ServedGroup[] {
    const { aggregatedVersions = () => noAggregatedVersions } = this.#options
    return this.#groups.get('all', () => servedGroups(this.#scheme.groups(), aggregatedVersions()))
  }

  #value(path: string): object | undefined {
    const [root = '', ...rest] = path.split('/').slice(1)
    if (rest.length === 0) return this.#rootValue(root)
    const [group = '', version, more] = root === 'api' ? ['', ...rest] : rest
    if (more !== undefined) return undefined
    if (version === undefined) return apiGroup(this.#servedGroups(), group)
    return resourceList({ group, version }, this.#scheme.resourcesIn({ group, version }))
  }

  #rootValue(root: string): object | undefined {
    const { build, paths = () => [], serverAddress } = this.#options
    switch (root) {
      case '':
        return { paths: allPaths(this.#servedGroups(), paths()) }
      case 'api':
        return apiVersions(this.#servedGroups(), serverAddress)
      case 'apis':
        return apiGroupList(this.#servedGroups())
      default:
        return versionInfo(build)
    }
  }
}

/** Undefined for the lists of groups, which have no route. */
function producedFor(path: string): readonly string[] | undefined {
  if (path === '/version') return onlyJson
  return /^\/(?:api|api\/[^/]+|apis\/[^/]+\/[^/]+)$/.test(path) ? producedTypes : undefined
}

const onlyJson = [mediaTypes.json]

function encoded(value: object, form: Pick<Negotiated, 'format' | 'pretty'>): Document {
  const hasVersion = 'apiVersion' in value || form.format !== 'protobuf'
  return documentOf({
    mediaType: mediaTypes[form.format],
    bytes: hasVersion ? encodeValue(value, form) : encodeProtobufWithoutVersion(value),
    value: () => value,
  })
}

function allPaths(groups: readonly ServedGroup[], others: readonly string[]): readonly string[] {
  const ofGroups = groups.flatMap(({ name, versions }) => {
    const root = name === '' ? '/api' : `/apis/${name}`
    return [root, ...versions.map(({ version }) => `${root}/${version}`)]
  })
  const fixed = ['/apis', '/apis/', '/openapi/v2', '/openapi/v3', '/openapi/v3/', '/version']
  return [...new Set([...ofGroups, ...fixed, ...others])].sort()
}
