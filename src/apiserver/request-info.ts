/**
 * The attributes of a request, derived from method, path and query. Audit, limits, authorization and routing
 * all use them and must not parse the request themselves.
 */
import { checkPathSegmentName } from '#/api/names.ts'
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
  /** True for the deprecated paths `/api/v1/watch/...`. */
  readonly isWatchPath: boolean
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
  /** Of methods without a verb, such as OPTIONS. */
  | ''

/** Undefined when the path cannot be decoded. */
export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo | undefined {
  const segments = decodeSegments(path)
  if (segments === undefined) return undefined
  const target = locate(segments)
  if (target === undefined) return { isResource: false, verb: method.toLowerCase(), path }
  const verb = verbOf(method, target, query)
  const isSelection = !target.isWatchPath && (verb === 'list' || verb === 'watch')
  const name = target.name || (isSelection ? selectedName(query) : '')
  return { isResource: true, verb, path, ...target, name }
}

type Target = Omit<ResourceRequestInfo, 'isResource' | 'verb' | 'path'>

function locate(segments: readonly string[]): Target | undefined {
  const [root, ...rest] = segments
  const isCore = root === 'api'
  if (!isCore && root !== 'apis') return undefined
  const group = isCore ? '' : rest.shift()
  const version = rest.shift()
  if (group === undefined || version === undefined) return undefined
  const isWatchPath = rest[0] === 'watch' && rest.length > 1
  if (isWatchPath) rest.shift()
  if (rest.length === 0) return undefined
  return { group, version, isWatchPath, ...locateResource(rest) }
}

/** Subresources of namespaces; any other third segment is a resource in the namespace. */
const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize'])

function locateResource(segments: readonly string[]): Omit<Target, 'group' | 'version' | 'isWatchPath'> {
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

function verbOf(method: string, target: Target, query: URLSearchParams): ApiVerb {
  if (target.isWatchPath) return 'watch'
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (target.name !== '') return 'get'
      return isTrue(query.get('watch')) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return target.name === '' ? 'deletecollection' : 'delete'
    default:
      return ''
  }
}

/** Subresources that are forwarded to a kubelet or pod, which are long-running. */
export function isConnectSubresource({ subresource }: ResourceRequestInfo): boolean {
  return connecting.has(subresource)
}

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

/** Taking a profile is long-running. */
export function isProfilePath(path: string): boolean {
  return path.startsWith('/debug/pprof/')
}

/** Parses booleans in queries as Kubernetes does: present without a value means true. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function selectedName(query: URLSearchParams): string {
  const text = query.get('fieldSelector')
  if (text === null || !text.includes('metadata.name')) return ''
  try {
    const name = parseFieldSelector(text).requiresExact('metadata.name') ?? ''
    return checkPathSegmentName(name).length === 0 ? name : ''
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
