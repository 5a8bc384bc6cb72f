import type { Resource } from '#/api/resource.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import {
  isConnectSubresource,
  type ApiVerb,
  type RequestInfo,
  type ResourceRequestInfo,
} from '../request-info.ts'
import type { ApiRequest } from '../request.ts'
import type { RequestLabels, RequestMetrics, RequestSeries } from './requests.ts'

/**
 * Finds the series of a request. Each label set is looked up once; a request for an object builds no strings. The
 * number of label sets is bounded by the resources that are served: all other requests share a few.
 */
export class RequestLabeler {
  readonly #metrics: RequestMetrics
  readonly #resourceOf: (info: ResourceRequestInfo) => Resource | undefined
  readonly #byResource = new WeakMap<Resource, Map<string, RequestSeries>>()
  readonly #byPath = new Map<string, RequestSeries>()

  constructor(metrics: RequestMetrics, resourceOf: (info: ResourceRequestInfo) => Resource | undefined) {
    this.#metrics = metrics
    this.#resourceOf = resourceOf
  }

  seriesOf(request: ApiRequest, info: RequestInfo): RequestSeries {
    const resource = info.isResource ? this.#resourceOf(info) : undefined
    const isServed = info.isResource && resource && isServedSubresource(resource, info)
    return isServed ? this.#ofResource(resource, request, info) : this.#ofPath(request, info)
  }

  #ofResource(resource: Resource, request: ApiRequest, info: ResourceRequestInfo): RequestSeries {
    let known = this.#byResource.get(resource)
    if (known === undefined) this.#byResource.set(resource, (known = new Map()))
    const verb = verbOf(request, info)
    const scope = scopeOf(info)
    const { group, version, resource: plural, subresource } = info
    // Avoids parsing the query of GET requests, which have no dryRun.
    const dryRun = request.method === 'GET' ? '' : dryRunOf(request)
    const isPlain = subresource === '' && dryRun === ''
    const key = isPlain ? plainKeys[scope][verb]! : `${verb}/${scope}/${subresource}/${dryRun}`
    let series = known.get(key)
    if (series === undefined) {
      const labels = { verb, group, version, resource: plural, subresource, scope, dryRun }
      series = this.#metrics.series(labels)
      known.set(key, series)
      const { deprecation } = rulesOf(resource)
      if (deprecation !== undefined)
        this.#metrics.recordDeprecated(labels, /unavailable in v(\d+\.\d+)/.exec(deprecation)?.[1] ?? '')
    }
    return series
  }

  #ofPath({ method }: ApiRequest, { path, isResource }: RequestInfo): RequestSeries {
    const verb = method === 'HEAD' ? 'GET' : methods.has(method) ? method : 'other'
    const subresource = isResource ? '' : knownPath(path)
    const key = `${verb} ${subresource}`
    let series = this.#byPath.get(key)
    if (series === undefined) {
      series = this.#metrics.series({ ...noResource, verb, subresource })
      this.#byPath.set(key, series)
    }
    return series
  }
}

function isServedSubresource({ subresources }: Resource, { subresource }: ResourceRequestInfo): boolean {
  return subresource === '' || subresources.has(subresource)
}

const noResource = { group: '', version: '', resource: '', scope: '', dryRun: '' } as const

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

const verbs: Readonly<Record<ApiVerb, string>> = {
  'get': 'GET',
  'list': 'LIST',
  'watch': 'WATCH',
  'create': 'POST',
  'update': 'PUT',
  'patch': 'PATCH',
  'delete': 'DELETE',
  'deletecollection': 'DELETE',
  '': 'other',
}

/** Keys of requests without a subresource and dry run, by scope and verb. */
const plainKeys: Readonly<Record<RequestLabels['scope'], Readonly<Record<string, string>>>> = {
  '': keysOf(''),
  'resource': keysOf('resource'),
  'namespace': keysOf('namespace'),
  'cluster': keysOf('cluster'),
}

function keysOf(scope: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...Object.values(verbs), 'APPLY', 'CONNECT'].map(verb => [verb, `${verb}/${scope}//`]),
  )
}

/** Paths with their own label value. */
const paths: ReadonlySet<string> = new Set([
  '/api',
  '/apis',
  '/flagz',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi',
  '/readyz',
  '/statusz',
  '/version',
])

function knownPath(path: string): string {
  if (path === '/metrics/slis') return path
  const end = path.indexOf('/', 1)
  const first = end === -1 ? path : path.slice(0, end)
  return paths.has(first) ? first : ''
}

function verbOf(request: ApiRequest, info: ResourceRequestInfo): string {
  if (isConnectSubresource(info)) return 'CONNECT'
  const { verb } = info
  const isApply = verb === 'patch' && request.headers['content-type']?.startsWith('application/apply-patch+')
  return isApply ? 'APPLY' : verbs[verb]
}

function scopeOf({ name, verb, namespace }: ResourceRequestInfo): RequestLabels['scope'] {
  if (name !== '' || verb === 'create') return 'resource'
  return namespace === '' ? 'cluster' : 'namespace'
}

function dryRunOf({ query }: ApiRequest): string {
  const asked = query.getAll('dryRun')
  return asked.length === 0 ? '' : asked.every(value => value === 'All') ? 'All' : 'invalid'
}
