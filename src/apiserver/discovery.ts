/**
 * Discovery: groups, versions and resources, and the server version. All documents are derived from the
 * scheme, created on first use and cached until the scheme changes. Schemas are served by `openapi.ts`.
 */
import { apiError } from '#/api/errors.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import {
  aggregatedDiscovery,
  aggregatedMediaType,
  aggregatedVersion,
  type Root,
} from './discovery/aggregated.ts'
import { documentResponse, documentOf, type Document } from './discovery/document.ts'
import { apiGroup, apiGroupList, apiVersions, versionsOf } from './discovery/groups.ts'
import { resourceList } from './discovery/resource-list.ts'
import { SchemeCache } from './discovery/scheme-cache.ts'
import { versionInfo, type Build } from './discovery/server-version.ts'
import { mediaTypes, negotiate, type Negotiated } from './negotiation.ts'
import type { ApiRequest, ApiResponse, RequestContext } from './request.ts'
import { encodeValue } from './view.ts'

export { gitVersion } from './discovery/server-version.ts'

export interface DiscoveryOptions {
  readonly build: Build
  /** `host:port` at which clients reach the server. */
  readonly serverAddress: string
  /** Additional paths to list at `/`, such as health and metrics endpoints. */
  readonly paths?: readonly string[]
}

export class Discovery {
  readonly #options: DiscoveryOptions
  readonly #documents: SchemeCache<Document>

  constructor(scheme: Scheme, options: DiscoveryOptions) {
    this.#options = options
    this.#documents = new SchemeCache(scheme)
  }

  /** Undefined if the path is not a discovery path. Throws ApiError 405 and 406. */
  handle({ request, info }: Pick<RequestContext, 'request' | 'info'>): ApiResponse | undefined {
    if (info.isResource) return undefined
    const path = info.path.replace(/(?<=.)\/$/, '')
    const root = path === '/api' || path === '/apis' ? (path.slice(1) as Root) : undefined
    const version = root && aggregatedVersion(request.headers['accept'])
    const document =
      root && version
        ? this.#documents.get(`${path} ${version}`, resources =>
            jsonOf(aggregatedDiscovery(resources, root, version), aggregatedMediaType(version)),
          )
        : this.#plainDocument(path, request)
    if (document === undefined) return undefined
    if (info.verb !== 'get' && info.verb !== 'head') {
      throw apiError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
    }
    return documentResponse(request, document)
  }

  #plainDocument(path: string, { headers, query }: ApiRequest): Document | undefined {
    // Other paths must not fail content negotiation with 406.
    if (!/^\/(?:$|api$|apis$|api\/|apis\/|version$)/.test(path)) return undefined
    const isJsonOnly = path === '/' || path === '/version'
    const { format, pretty }: Pick<Negotiated, 'format' | 'pretty'> = isJsonOnly
      ? { format: 'json', pretty: true }
      : negotiate(headers['accept'], query, headers['user-agent'])
    return this.#documents.get(`${path} ${format} ${pretty}`, resources => {
      const value = this.#value(path, resources)
      return value && encoded(value, { format, pretty })
    })
  }

  #value(path: string, resources: readonly Resource[]): object | undefined {
    const [root = '', ...rest] = path.split('/').slice(1)
    if (rest.length === 0) return this.#rootValue(root, resources)
    const [group = '', version, more] = root === 'api' ? ['', ...rest] : rest
    if (more !== undefined) return undefined
    return version === undefined ? apiGroup(resources, group) : resourceList(resources, { group, version })
  }

  #rootValue(root: string, resources: readonly Resource[]): object | undefined {
    const { build, paths = [], serverAddress } = this.#options
    switch (root) {
      case '':
        return { paths: allPaths(resources, paths) }
      case 'api':
        return apiVersions(resources, serverAddress)
      case 'apis':
        return apiGroupList(resources)
      default:
        return versionInfo(build)
    }
  }
}

function encoded(value: object, form: Pick<Negotiated, 'format' | 'pretty'>): Document {
  // APIResourceList of the core group has no apiVersion in JSON, but the protobuf envelope requires one.
  const complete = form.format === 'protobuf' ? { apiVersion: 'v1', ...value } : value
  return documentOf({
    mediaType: mediaTypes[form.format],
    bytes: encodeValue(complete, form),
    value: () => value,
  })
}

function jsonOf(value: object, mediaType: string): Document {
  return documentOf({ mediaType, bytes: Buffer.from(JSON.stringify(value)), value: () => value })
}

function allPaths(resources: readonly Resource[], others: readonly string[]): readonly string[] {
  const ofGroups = [...versionsOf(resources)].flatMap(([group, versions]) => {
    const root = group === '' ? '/api' : `/apis/${group}`
    return [root, ...versions.map(version => `${root}/${version}`)]
  })
  const fixed = ['/apis', '/apis/', '/openapi/v2', '/openapi/v3', '/openapi/v3/', '/version']
  return [...new Set([...ofGroups, ...fixed, ...others])].sort()
}
