/**
 * The attributes of a request, derived from method, path and query. Audit, limits, authorization and routing
 * all use them and must not parse the request themselves.
 */
import { parseFieldSelector } from '#/api/selectors/field-selector.ts'

export type RequestInfo = ResourceRequestInfo | PathRequestInfo

export interface ResourceRequestInfo {
  readonly isResource: true
  readonly verb: ApiVerb
  readonly path: string
  readonly group: string
  readonly version: string
  /** Empty for requests that are not limited to a namespace. */
  readonly namespace: string
  /** Plural name. */
  readonly resource: string
  readonly subresource: string
  /** Empty for requests on collections. A field selector for metadata.name counts as the name. */
  readonly name: string
  /** The path after the subresource, for proxies. */
  readonly rest: string
}

export interface PathRequestInfo {
  readonly isResource: false
  /** Lowercase HTTP method. */
  readonly verb: string
  readonly path: string
}

export type ApiVerb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  /** Only for the proxy subresource. */
  | 'options'

/** Undefined when the path cannot be decoded. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo | undefined {
  const segments = decodeSegments(path)
  if (segments === undefined) return undefined
  const target = locate(segments)
  if (target === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const verb = verbOf(method, target, query)
  if (verb === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const name =
    target.name ||
    (verb === 'list' || verb === 'watch' || verb === 'deletecollection' ? selectedName(query) : '')
  return { isResource: true, verb, path, ...target, name }
}

type Target = Pick<
  ResourceRequestInfo,
  'group' | 'version' | 'namespace' | 'resource' | 'subresource' | 'name' | 'rest'
> & { readonly watch: boolean }

function locate(segments: readonly string[]): Target | undefined {
  const [root, ...rest] = segments
  const isCore = root === 'api'
  if (!isCore && root !== 'apis') return undefined
  const group = isCore ? '' : rest.shift()
  const version = rest.shift()
  if (group === undefined || version === undefined) return undefined
  const watch = rest[0] === 'watch' && rest.length > 1
  if (watch) rest.shift()
  if (rest.length === 0) return undefined
  return { group, version, watch, ...locateResource(rest) }
}

/** Subresources of namespaces; any other third segment is a resource in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize'])

function locateResource(segments: readonly string[]): Omit<Target, 'group' | 'version' | 'watch'> {
  const [first = '', second = '', third] = segments
  if (first === 'namespaces' && third !== undefined && !namespaceSubresources.has(third)) {
    const [resource = '', name = '', subresource = '', ...rest] = segments.slice(2)
    return { namespace: second, resource, name, subresource, rest: rest.join('/') }
  }
  const [resource = '', name = '', subresource = '', ...rest] = segments
  return {
    namespace: first === 'namespaces' ? second : '',
    resource,
    name,
    subresource,
    rest: rest.join('/'),
  }
}

function verbOf(method: string, target: Target, query: URLSearchParams): ApiVerb | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (target.watch || (isTrue(query.get('watch')) && target.subresource === '')) return 'watch'
      return target.name === '' ? 'list' : 'get'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return target.name === '' ? 'deletecollection' : 'delete'
    case 'OPTIONS':
      return target.subresource === 'proxy' ? 'options' : undefined
    default:
      return undefined
  }
}

/** Subresources that are forwarded to a kubelet or pod, which are long-running. */
export function isConnectSubresource({ subresource }: ResourceRequestInfo): boolean {
  return connecting.has(subresource)
}

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Parses booleans in queries as Kubernetes does: present without a value means true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function selectedName(query: URLSearchParams): string {
  const text = query.get('fieldSelector')
  if (text === null || !text.includes('metadata.name')) return ''
  try {
    return parseFieldSelector(text).requiresExact('metadata.name') ?? ''
  } catch {
    // The handler reports the invalid selector.
    return ''
  }
}

function decodeSegments(path: string): readonly string[] | undefined {
  const segments = path.split('/').filter(segment => segment !== '')
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return undefined
  }
}
